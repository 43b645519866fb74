/*
 * Writes a file that accepts data only from the latest leader. The first line of the file holds the
 * largest token used so far. A writer with a smaller token is refused (exit status 1).
 *
 *     date | ELECT_TOKEN=131075 fenced FILE
 *     elect run ... -- sh -c 'while date | fenced FILE; do sleep 1; done'
 *
 * elect run sets ELECT_TOKEN. A program that asks the daemon directly finds the token in
 * struct elect_client_answer.
 *
 * Without the token, an old leader could overwrite newer data: it checks that it leads and is
 * suspended before it writes; another member becomes leader and writes; then the old leader
 * continues. No election can prevent this, because the check was correct. Only the file, database
 * or device that receives the late write can refuse it.
 *
 * The program writes a new file, and replaces FILE once the data has reached the disk. It holds a
 * lock on FILE.lock from the check of the token until then. If a writer is suspended in between,
 * the others must wait. A store that runs as a server would not have this problem.
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

static char draft[4096]; /* new content, before it is renamed to FILE */

static void discard_draft(void) { unlink(draft); }

/* Returns the token in `text`, or 0 if there is none. */
static uint64_t parse_token(const char *text)
{
    errno = 0;
    uint64_t token = strtoull(text, NULL, 10);
    return errno == 0 && text[strspn(text, "0123456789")] == '\0' ? token : 0;
}

/* Copies standard input to a temporary file, before taking the lock: slow input must not delay
 * other writers. */
static void write_draft(uint64_t token)
{
    char text[4096];
    size_t size;
    int fd = mkstemp(draft);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL)
        err(FAILED, "%s", draft);
    atexit(discard_draft);
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
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        err(FAILED, "%s", path);
}

/* Returns the token in the first line of the file, or 0 if there is no file. */
static uint64_t largest_token(const char *path)
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
    if (parse_token(line) == 0)
        errx(FAILED, "%s: no token in its first line (does another program write to it?)", path);
    return parse_token(line);
}

static void sync_folder(char *path)
{
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) != 0)
        err(FAILED, "%s", path);
}

int main(int argc, char **argv)
{
    char lock_path[sizeof draft];
    uint64_t token = parse_token(getenv("ELECT_TOKEN") != NULL ? getenv("ELECT_TOKEN") : "");
    if (argc != 2 || token == 0 || strlen(argv[1]) > sizeof draft - 32)
        errx(USAGE, "usage: ELECT_TOKEN=NUMBER fenced FILE");
    snprintf(draft, sizeof draft, "%s.XXXXXX", argv[1]);
    snprintf(lock_path, sizeof lock_path, "%s.lock", argv[1]);
    write_draft(token);
    lock(lock_path);
    uint64_t largest = largest_token(argv[1]);
    if (token < largest)
        errx(REFUSED, "%s: token %" PRIu64 " refused: a leader with token %" PRIu64 " has written",
             argv[1], token, largest);
    if (rename(draft, argv[1]) != 0)
        err(FAILED, "%s", argv[1]);
    sync_folder(argv[1]);
    return 0;
}
