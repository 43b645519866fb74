/* Runs the unit tests of the mandate. */
#include "mandate.h"

int main(void)
{
    return test_voter() + test_office() + test_candidacy() + test_handover() + test_presence() +
           test_embed() + test_aside();
}
