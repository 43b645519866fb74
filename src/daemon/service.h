/* Notifies the service manager with a datagram to its socket. The daemon does not use libsystemd,
 * because that library would cost a megabyte of memory, and because the format of the datagram is
 * documented and stable. */
#ifndef ELECT_DAEMON_SERVICE_H
#define ELECT_DAEMON_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends a datagram to the socket with that path, without waiting. Returns 0, or an error number. */
int service_send(const char *path, const char *bytes, size_t size);

/* Sends these lines, if a service manager has asked for notifications. */
void service_say(const char *lines);

/* Keeps other processes of the same user from tracing this process, and prevents core dumps,
 * because both would reveal keys. Forked children inherit this protection. */
void service_be_discreet(void);

/* Returns the period of the service manager's watchdog, in microseconds; 0 if there is no
 * watchdog. */
uint64_t service_watchdog(void);

#endif
