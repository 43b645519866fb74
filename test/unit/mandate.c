/* The mandate: voters, then candidates and leaders. */
#include "mandate.h"

int main(void) { return test_voter() + test_office(); }
