/*
 * Checks a program before the daemon executes it: a hook. A user who can modify or replace such a
 * program gets the rights of the daemon. So the path is walked from /, one name at a time, without
 * following symbolic links, and the checks apply to the opened descriptors, not to names. They are
 * repeated before every execution.
 *
 * Each folder, and the program, belongs to root or to the user of this process, and neither its
 * group nor others may write to it (an access list that lets somebody write shows there, too).
 *
 * But a folder like /tmp is passed: others may write to it, it belongs to root, and it has the
 * sticky bit, so that what root or this user has in it is neither renamed nor removed by others.
 * What they make there belongs to them and is refused; and a folder that is not theirs they cannot
 * bring there: none can be linked, and to move one takes write access to it. Two things they can
 * have there that do not look like theirs, and these are refused in such a folder:
 * - a plain file: a link to it, or the file itself, out of a folder of their own. So the program is
 *   not in it, only a folder with the program.
 * - what they have mounted: with FUSE they choose the owner of a file.
 *
 * Not covered: a process that opened the file for writing before its owner changed.
 */
#ifndef ELECT_DAEMON_TRUSTED_H
#define ELECT_DAEMON_TRUSTED_H

#include "../base/text.h"

#include <sys/types.h>

/* A descriptor (O_PATH, close-on-exec) of that very program; or -1, and one line that says what is
 * wrong, with which part of the path, and what to do. */
int trusted_open(const char *path, struct text *complaint);

/* Returns false, with that line, if the program could not be opened and executed by this user now.
 * That it could is no promise for later. */
bool trusted_check(const char *path, uid_t user, struct text *complaint);

/* Becomes that program; an errno if not. To be called in a child: for a script ("#!") the
 * descriptor stays open, because its interpreter reads /dev/fd/N. */
int trusted_exec(int fd, char *const argv[], char *const environment[]);

#endif
