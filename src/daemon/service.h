/* Notifies the service manager with a datagram to its socket. libsystemd would cost a megabyte of
 * memory, and the datagram's format is documented and stable. */
#ifndef ELECT_DAEMON_SERVICE_H
#define ELECT_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends a datagram without blocking. Returns 0 or an error number. */
int service_send(const char *path, const char *bytes, size_t size);

/* Does nothing if no service manager has asked for notifications. */
void service_say(const char *lines);

/* Prevents ptrace by the same user and core dumps, which would reveal keys. Forked children inherit
 * this. */
void service_be_discreet(void);

/* Returns the watchdog's period in microseconds; 0 if there is no watchdog. */
uint64_t service_watchdog(void);

#endif
