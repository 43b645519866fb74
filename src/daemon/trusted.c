/* Walks a program's path from /, one name at a time, and checks owner and mode of each folder and
 * of the program. trusted.h explains what is refused, and why. */
#include "trusted.h"

#include "../base/access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD  256 /* bytes */
#define SHOWN 68  /* bytes, with the dots and NUL */

struct walk {
    const char *path;
    const char *name; /* at first the empty name of the root */
    size_t length;
    int fd;
    bool shared; /* other users may write to it */
    uid_t user;  /* will execute the program */
    struct stat is;
    struct text *complaint;
};

static bool refuse(const struct walk *w, const char *what, const char *remedy)
{
    size_t until = (size_t)(w->name - w->path) + w->length;
    text_add_bytes(w->complaint, w->path, until > 0 ? until : 1);
    return text_complain(w->complaint, "", what, remedy);
}

static const char *start_of(const char *path, char start[SHOWN])
{
    snprintf(start, SHOWN, "%.*s...", SHOWN - 4, path);
    return start;
}

/* errno tells why the current name could not be opened. */
static bool refuse_missing(const struct walk *w)
{
    char until[PATH_MAX];
    if (errno == ENOENT)
        return refuse(w, strerror(errno), ": install it, or correct the path of the hook");
    snprintf(until, sizeof until, "%.*s", (int)((size_t)(w->name - w->path) + w->length), w->path);
    return refuse(w, access_text(errno, until, ACCESS_READ), "");
}

/* ---- the names in the path ---- */

static bool next_name(struct walk *w)
{
    char start[SHOWN];
    w->name += w->length + 1;
    w->length = strcspn(w->name, "/");
    if (w->length == 0 || strncmp(w->name, ".", w->length) == 0 ||
        strncmp(w->name, "..", w->length) == 0)
        return refuse(w, "the path has \".\", \"..\" or an empty name there", ": write it without");
    if (w->length > NAME_MAX)
        return text_complain(w->complaint, start_of(w->path, start), "a name in it is too long",
                             ": use at most 255 bytes for each name");
    return true;
}

static bool is_last(const struct walk *w) { return w->name[w->length] == '\0'; }

/* ---- folders and the program ---- */

static bool check_owner(struct walk *w)
{
    bool shared = (w->is.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    bool sticky = S_ISDIR(w->is.st_mode) && (w->is.st_mode & S_ISVTX) != 0 && w->is.st_uid == 0;
    if (w->is.st_uid != 0 && w->is.st_uid != w->user)
        return refuse(w, "another user owns it",
                      ": it must belong to root or to the user that runs elect");
    if (shared && !sticky)
        return refuse(w, "others may write to it", ": chmod go-w it");
    w->shared = shared;
    return true;
}

/* Returns false if only the owner, another user, may execute the program or search the folder. With
 * an access list, the group bits include its permissions. */
static bool may_pass(const struct walk *w)
{
    return w->user == 0 || w->user == w->is.st_uid || (w->is.st_mode & (S_IXGRP | S_IXOTH)) != 0;
}

static bool check_program(const struct walk *w, bool folder_is_shared)
{
    if (!S_ISREG(w->is.st_mode))
        return refuse(w, "it is not a regular file", ": write the path of a program");
    if (folder_is_shared)
        return refuse(w, "it is in a folder where others may put files",
                      ": move it into a folder of its own");
    if ((w->is.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
        return refuse(w, "it is not executable", ": chmod +x it");
    if (!may_pass(w))
        return refuse(w, "the user that runs elect may not execute it", ": chmod go+x it");
    /* This also detects a noexec mount, except on old kernels, which report it only on
     * execution. */
    return w->user != geteuid() || faccessat(w->fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 ||
           errno != EACCES ||
           refuse(w, "the user that runs elect may not execute it",
                  ": chmod go+x it, and check that its file system is not mounted noexec");
}

static bool look(struct walk *w)
{
    dev_t device = w->is.st_dev;
    bool shared = w->shared;
    if (fstat(w->fd, &w->is) != 0)
        return refuse(w, strerror(errno), "");
    if (S_ISLNK(w->is.st_mode))
        return refuse(w, "it is a symbolic link", ": write the path of the program itself");
    if (shared && w->is.st_dev != device)
        return refuse(w, "it is another file system, in a folder where others may write",
                      ": move the program elsewhere");
    if (!check_owner(w))
        return false;
    if (is_last(w))
        return check_program(w, shared);
    if (!S_ISDIR(w->is.st_mode))
        return refuse(w, "it is not a folder", ": correct the path of the hook");
    return may_pass(w) ||
           refuse(w, "the user that runs elect may not search it", ": chmod go+x it");
}

static bool go_on(struct walk *w)
{
    char name[NAME_MAX + 1];
    if (!next_name(w))
        return false;
    memcpy(name, w->name, w->length);
    name[w->length] = '\0';
    int next = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
        return refuse_missing(w);
    close(w->fd);
    w->fd = next;
    return look(w);
}

static bool begin(struct walk *w)
{
    w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->fd < 0 || fstat(w->fd, &w->is) != 0)
        return text_complain(w->complaint, "/", strerror(errno), "");
    return check_owner(w);
}

static int open_for(const char *path, uid_t user, struct text *complaint)
{
    char start[SHOWN];
    struct walk w = {.path = path, .name = path, .fd = -1, .user = user, .complaint = complaint};
    bool fine = false;
    if (path[0] != '/')
        text_complain(complaint, path, "not an absolute path", ": begin it with /");
    else if (strlen(path) >= PATH_MAX)
        text_complain(complaint, start_of(path, start), "the path is too long",
                      ": use at most 4095 bytes");
    else
        fine = begin(&w);
    while (fine && !is_last(&w))
        fine = go_on(&w);
    if (!fine && w.fd >= 0)
        close(w.fd);
    return fine ? w.fd : -1;
}

int trusted_open(const char *path, struct text *complaint)
{
    return open_for(path, geteuid(), complaint);
}

/* ---- the content of a program ---- */

/* An unreadable program may still be executable. */
static bool read_head(int program, char head[HEAD])
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", program);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, head, HEAD - 1) : -1;
    if (fd >= 0)
        close(fd);
    head[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

static bool is_text(const char *s)
{
    while ((*s >= ' ' && *s < 0x7f) || *s == '\t' || *s == '\n' || *s == '\r')
        s++;
    return *s == '\0';
}

/* Refuses a script without "#!" or without its interpreter, which the kernel would refuse only on
 * execution. */
static bool check_script(const char *path, int program, struct text *complaint)
{
    char head[HEAD];
    if (!read_head(program, head))
        return true;
    if (strncmp(head, "#!", 2) != 0)
        return !is_text(head) || text_complain(complaint, path, "a script without an interpreter",
                                               ": begin it with #!/bin/sh");
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    if (access(name, F_OK) == 0 || errno != ENOENT)
        return true;
    text_clean(name); /* it may end with a carriage return */
    text_complain(complaint, path, "its interpreter ", name);
    return text_refuse(complaint, " is missing: install it, or correct the first line");
}

bool trusted_check(const char *path, uid_t user, struct text *complaint)
{
    int fd = open_for(path, user, complaint);
    bool fine = fd >= 0 && check_script(path, fd, complaint);
    if (fd >= 0)
        close(fd);
    return fine;
}

int trusted_exec(int fd, char *const argv[], char *const environment[])
{
    execveat(fd, "", argv, environment, AT_EMPTY_PATH);
    /* ENOENT: the program is a script, and its interpreter needs the descriptor to read it: see
     * execveat(2). */
    if (errno == ENOENT && fcntl(fd, F_SETFD, 0) == 0)
        execveat(fd, "", argv, environment, AT_EMPTY_PATH);
    return errno;
}
