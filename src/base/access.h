/* Explains why access is denied: names the file or folder that denies it, and a user or group that
 * has access. */
#ifndef ELECT_BASE_ACCESS_H
#define ELECT_BASE_ACCESS_H

#include "text.h"

/* ACCESS_MAKE means creating a file, which requires access to the folder that will contain it. */
enum access_wish { ACCESS_READ, ACCESS_WRITE, ACCESS_SEARCH, ACCESS_MAKE };

/* Returns a text for the error number of a failed access to `path`. The next call overwrites the
 * text. For EACCES the text also names the file or folder that denies access, and a user or group
 * that has access. */
const char *access_text(int error, const char *path, enum access_wish wish);

/* Like access_text(), but for a failed connection to the socket of a daemon. */
const char *access_socket_text(int error, const char *path);

/* Returns false, with the reason in `complaint`, if this process lacks permission. Otherwise
 * returns true, even if the check fails with another error, because the access itself will report
 * that error. */
bool access_check(const char *path, enum access_wish wish, struct text *complaint);

#endif
