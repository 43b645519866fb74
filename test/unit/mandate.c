/* The mandate: voters, candidates and leaders, hand-over and who is disturbed. */
#include "mandate.h"

int main(void) { return test_voter() + test_office() + test_handover(); }
