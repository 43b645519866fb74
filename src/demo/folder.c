/* Temporary folders. In /tmp, other users can plant links, and following one during removal
 * would delete files elsewhere. This code therefore opens each subfolder through its parent's
 * descriptor, never looks up a path twice and never follows a link. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "elect-demo-"
/* Longest path of the parent folder. Paths of sockets must be short. */
#define LONGEST 48
#define DEPTH   4
#define LOCK    "lock"
#define TRIES   100

static const char *place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] == '/' && strlen(folder) < LONGEST ? folder : "/tmp";
}

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Returns true if this user owns the folder and is the only one who can write to it. */
static bool is_ours(int folder)
{
    struct stat is;
    return fstat(folder, &is) == 0 && is.st_uid == geteuid() && (is.st_mode & 0777) == 0700;
}

/* Removes as many files as possible, and closes `folder`. */
static void empty(int folder, unsigned depth)
{
    DIR *all = fdopendir(folder);
    const struct dirent *entry;
    if (all == NULL) {
        close(folder);
        return;
    }
    while ((entry = readdir(all)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (depth == DEPTH && strcmp(entry->d_name, LOCK) == 0))
            continue;
        int below = depth > 0 ? open_folder(folder, entry->d_name) : -1;
        if (below >= 0)
            empty(below, depth - 1);
        unlinkat(folder, entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
    }
    closedir(all);
}

static void remove_from(int above, const char *name)
{
    int folder = open_folder(above, name);
    if (folder < 0)
        return;
    if (!is_ours(folder)) {
        close(folder);
        return;
    }
    int again = dup(folder);
    empty(folder, DEPTH);
    if (again >= 0) {
        /* The lock file goes last. If this process is killed before, the next demonstration
         * finds the lock free and removes the rest. */
        unlinkat(again, LOCK, 0);
        close(again);
    }
    unlinkat(above, name, AT_REMOVEDIR);
}

void folder_remove(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char above[LONGEST + 2];
    snprintf(above, sizeof above, "%.*s", (int)(name - path), path);
    int folder = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    remove_from(folder, name);
    close(folder);
}

/* Removes the folder of a demonstration whose lock is free, because it has ended. Also removes
 * an empty folder. A demonstration that was about to lock it creates another one. */
static void clean_up(int above, const char *name)
{
    int folder = open_folder(above, name);
    if (folder < 0)
        return;
    bool ours = is_ours(folder);
    int lock = ours ? openat(folder, LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        remove_from(above, name);
    else if (lock < 0 && ours)
        unlinkat(above, name, AT_REMOVEDIR); /* fails unless empty */
    if (lock >= 0)
        close(lock);
    close(folder);
}

void folder_clean_up(void)
{
    int above = open(place(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = above >= 0 ? fdopendir(above) : NULL;
    const struct dirent *entry;
    while (all != NULL && (entry = readdir(all)) != NULL)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            clean_up(above, entry->d_name);
    if (all != NULL)
        closedir(all);
    else if (above >= 0)
        close(above);
}

/* Creates and locks the lock file of a new folder. Returns its descriptor, or -1 on error. errno
 * is ENOENT if another demonstration has removed the folder. */
static int lock_in(const char *path)
{
    char name[LONGEST + 32];
    struct stat is;
    snprintf(name, sizeof name, "%s/" LOCK, path);
    int lock = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock < 0)
        return -1;
    if (flock(lock, LOCK_EX) == 0 && fstat(lock, &is) == 0) {
        if (is.st_nlink > 0)
            return lock;
        errno = ENOENT;
    }
    int why = errno;
    close(lock);
    errno = why;
    return -1;
}

int folder_make(char *path, size_t room, struct text *complaint)
{
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(path, room, "%s/" PREFIX "XXXXXX", place());
        if (mkdtemp(path) == NULL) {
            text_complain(complaint, path, strerror(errno), ": set TMPDIR to a folder");
            return -1;
        }
        int lock = lock_in(path);
        if (lock >= 0)
            return lock;
        if (errno != ENOENT)
            break;
    }
    text_complain(complaint, path, strerror(errno), "");
    folder_remove(path);
    return -1;
}
