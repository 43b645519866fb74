/* See access.h. This file reads /etc/passwd and /etc/group itself, because the name services of the
 * C library would take half a megabyte of memory in a daemon that locks its memory. */
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_user(struct text *t, uid_t uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *p = NULL;
    while (file != NULL && (p = fgetpwent(file)) != NULL && p->pw_uid != uid) {
    }
    if (p != NULL)
        text_add(t, p->pw_name);
    else
        text_add_number(t, uid);
    if (file != NULL)
        fclose(file);
}

static void add_group(struct text *t, gid_t gid)
{
    FILE *file = fopen("/etc/group", "re");
    const struct group *g = NULL;
    while (file != NULL && (g = fgetgrent(file)) != NULL && g->gr_gid != gid) {
    }
    if (g != NULL)
        text_add(t, g->gr_name);
    else
        text_add_number(t, gid);
    if (file != NULL)
        fclose(file);
}

static void cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        memcpy(path, ".", 2);
    else
        slash[slash == path] = '\0';
}

/* Shortens `path` to the folder or file that denies access: the first folder that this process may
 * not search or, if there is none, the target itself. Returns the kind of access that is denied. */
static enum access_wish find_refusal(char *path, enum access_wish wish)
{
    for (char *at = strchr(path + (path[0] != '\0'), '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0 && errno == EACCES)
            return ACCESS_SEARCH;
        *at = '/';
    }
    if (wish == ACCESS_MAKE)
        cut_to_folder(path);
    return wish;
}

static const int modes[] = {[ACCESS_READ] = R_OK,
                            [ACCESS_WRITE] = R_OK | W_OK,
                            [ACCESS_SEARCH] = X_OK,
                            [ACCESS_MAKE] = W_OK | X_OK};

/* Never suggests a group whose id is 0, because no user should join the group of root. */
static void add_help(struct text *t, const struct stat *is, mode_t needed)
{
    bool owner = (is->st_mode >> 6 & needed) == needed && is->st_uid != geteuid();
    text_add(t, ": run this as user ");
    add_user(t, owner ? is->st_uid : 0);
    if ((is->st_mode >> 3 & needed) == needed && is->st_gid != 0) {
        text_add(t, ", or in group ");
        add_group(t, is->st_gid);
    }
}

static void explain(struct text *t, const char *path, enum access_wish wish)
{
    static const char *const texts[] = {[ACCESS_READ] = "read",
                                        [ACCESS_WRITE] = "write to",
                                        [ACCESS_SEARCH] = "search",
                                        [ACCESS_MAKE] = "create files in"};
    char at[PATH_MAX];
    struct stat is;
    snprintf(at, sizeof at, "%s", path);
    wish = find_refusal(at, wish);
    if (stat(at, &is) != 0)
        return;
    bool is_socket = S_ISSOCK(is.st_mode);
    mode_t needed = is_socket ? W_OK : (mode_t)modes[wish];
    if (faccessat(AT_FDCWD, at, (int)needed, AT_EACCESS) == 0) {
        text_add(t, ", although its mode permits it: check the rules of SELinux or AppArmor");
        return;
    }
    add_help(t, &is, needed);
    text_add(t, ", which may ");
    text_add(t, is_socket ? "connect to" : texts[wish]);
    text_add(t, " ");
    text_add(t, at);
}

const char *access_text(int error, const char *path, enum access_wish wish)
{
    static struct text t;
    text_clear(&t);
    text_add(&t, strerror(error));
    if (error == EACCES)
        explain(&t, path, wish);
    return t.bytes;
}

static bool is_socket(const char *path)
{
    struct stat is;
    return stat(path, &is) != 0 || S_ISSOCK(is.st_mode);
}

const char *access_socket_text(int error, const char *path)
{
    if (error == ENAMETOOLONG)
        return "the path is too long for a socket: use at most 107 bytes";
    if (error == EPROTOTYPE || (error == ECONNREFUSED && !is_socket(path)))
        return "not a socket of elect: expected a path such as /run/elect/member-1.status";
    return error == ECONNREFUSED ? "no daemon listens there: start it with elect daemon"
           : error == ENOENT
               ? "there is no such socket: correct the path, or start the daemon with elect daemon"
               : access_text(error, path, ACCESS_WRITE);
}

bool access_check(const char *path, enum access_wish wish, struct text *complaint)
{
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", path);
    if (wish == ACCESS_MAKE)
        cut_to_folder(at);
    return faccessat(AT_FDCWD, at, modes[wish], AT_EACCESS) == 0 || errno != EACCES ||
           text_complain(complaint, path, access_text(EACCES, path, wish), "");
}
