/*
 * Checks a hook's program before the daemon executes it. A user who can change or replace the
 * program gains the daemon's rights. These functions therefore walk the path from /, one name at a
 * time, without following symbolic links, and check the opened descriptors instead of the names.
 * The checks are repeated before every execution.
 *
 * Each folder, and the program, must belong to root or to this process's user, and must not be
 * writable for its group or for others. (The group bits include the permissions of an access list.)
 *
 * A folder like /tmp is an exception: others may write to it, but it belongs to root and has the
 * sticky bit, so other users can neither rename nor remove files of root or of this user in it.
 * Files and folders that they create there are their own, and are refused. They cannot place a
 * folder of root or of this user there, because a folder cannot be linked, and moving one needs
 * write access to it. They can place two things there that do not belong to them, and both are
 * refused:
 * - a regular file of another user, which they link or move from a folder of their own. The program
 *   must therefore not be directly in such a folder, but in a folder inside it.
 * - a file system that they have mounted: with FUSE they choose the owner of each file.
 *
 * There is no protection against a process that opened the file for writing before the file got its
 * present owner.
 */
#ifndef ELECT_DAEMON_TRUSTED_H
#define ELECT_DAEMON_TRUSTED_H

#include "../base/text.h"

#include <sys/types.h>

/* Returns a descriptor (O_PATH, close-on-exec) of the program. If a check fails, returns -1, with
 * one line that names the refused part of the path, the problem and the remedy. */
int trusted_open(const char *path, struct text *complaint);

/* Returns false, with a complaint like that of trusted_open(), if this user could not execute the
 * program now. The checks are repeated before each execution. */
bool trusted_check(const char *path, uid_t user, struct text *complaint);

/* Executes the program in place of this process; returns an error number on failure. Only for a
 * child process: for a script ("#!"), it makes the descriptor inheritable, because the interpreter
 * reads /dev/fd/N. */
int trusted_exec(int fd, char *const argv[], char *const environment[]);

#endif
