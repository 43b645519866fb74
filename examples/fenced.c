/*
 * A file that only the latest leader writes: it has the largest token that ever wrote to it in its
 * first line, and refuses smaller ones (exit status 1).
 *
 *     date | ELECT_TOKEN=131075 fenced FILE
 *     elect run ... -- sh -c 'while date | fenced FILE; do sleep 1; done'
 *
 * elect run sets ELECT_TOKEN; whoever asks by himself has it from elect_client_answer.
 *
 * Without the token: a leader is stopped after it has found out that it leads, and before it
 * writes. Another one leads, and writes. The first goes on, and writes over that. No election can
 * prevent it, for it looked in time; only what is written to can.
 *
 * FILE is replaced as a whole, token and text, when both are on the disk; FILE.lock is held from
 * the look at the token to the replacement. Whoever is stopped just there keeps the others waiting:
 * a store that is a process of its own would not.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define REFUSED 1
#define USAGE   64
#define FAILED  74

static char draft[4096];

static void discard(void) { unlink(draft); } /* what has not become FILE */

/* 0: it is none. */
static uint64_t token_of(const char *text)
{
    errno = 0;
    uint64_t token = strtoull(text, NULL, 10);
    return errno == 0 && text[strspn(text, "0123456789")] == '\0' ? token : 0;
}

/* All that is on standard input, which may take its time: so nobody is locked out meanwhile. */
static void write_draft(uint64_t token)
{
    char text[4096];
    size_t size;
    int fd = mkstemp(draft);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL)
        err(FAILED, "%s", draft);
    atexit(discard);
    fprintf(file, "%" PRIu64 "\n", token);
    while ((size = fread(text, 1, sizeof text, stdin)) > 0)
        fwrite(text, 1, size, file);
    if (ferror(stdin) || fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0)
        err(FAILED, "%s", draft);
    fclose(file);
}

static void lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) /* until this process ends */
        err(FAILED, "%s", path);
}

/* 0: nobody has written yet. */
static uint64_t latest(const char *path)
{
    char line[32] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL && errno == ENOENT)
        return 0;
    if (file == NULL)
        err(FAILED, "%s", path);
    if (fgets(line, sizeof line, file) != NULL)
        line[strcspn(line, "\n")] = '\0';
    fclose(file);
    if (token_of(line) == 0)
        errx(FAILED, "%s: no token in its first line: who else writes to it?", path);
    return token_of(line);
}

static void sync_folder(char *path)
{
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) != 0)
        err(FAILED, "%s", path);
}

int main(int argc, char **argv)
{
    char locked[sizeof draft];
    uint64_t token = token_of(getenv("ELECT_TOKEN") != NULL ? getenv("ELECT_TOKEN") : "");
    if (argc != 2 || token == 0 || strlen(argv[1]) > sizeof draft - 32)
        errx(USAGE, "usage: ELECT_TOKEN=NUMBER fenced FILE");
    snprintf(draft, sizeof draft, "%s.XXXXXX", argv[1]);
    snprintf(locked, sizeof locked, "%s.lock", argv[1]);
    write_draft(token);
    lock(locked);
    uint64_t largest = latest(argv[1]);
    if (token < largest)
        errx(REFUSED, "token %" PRIu64 " is refused: %" PRIu64 " has written", token, largest);
    if (rename(draft, argv[1]) != 0)
        err(FAILED, "%s", argv[1]);
    sync_folder(argv[1]);
    return 0;
}
