/* What a service manager is told: a line to the socket that it names. (Not through libsystemd: that
 * would be a megabyte of memory for one datagram, whose form is documented and stable.) */
#ifndef ELECT_DAEMON_SERVICE_H
#define ELECT_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing if nobody wants to know. */
void service_say(const char *lines);

/* Nobody else may look into this process, or into what it forks, and it leaves no image of itself
 * behind. */
void service_be_discreet(void);

/* How often, in microseconds, it wants to hear that this process lives; 0: it does not. */
uint64_t service_watchdog(void);

#endif
