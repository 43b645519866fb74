/* elect sim FILE: plays a scenario, then compares its trace with the one in the file or replaces
 * it. */
#include "sim.h"

#include "../base/access.h"

#include "../model/scenario.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (1 << 20)

static int complain(const char *file, const char *why)
{
    return args_complain("sim", *file ? file : "\"\"", why);
}

/* Returns a file's content, which the caller must free. On failure, prints the reason, sets
 * `status` to an exit status and returns NULL. */
static char *read_file(const char *file, int *status)
{
    struct stat st;
    FILE *in = fopen(file, "r");
    char *text = NULL;
    *status = EXIT_USAGE;
    if (in == NULL || fstat(fileno(in), &st) != 0) {
        complain(file, access_text(errno, file, ACCESS_READ));
        *status = EXIT_IO;
    } else if (S_ISDIR(st.st_mode)) {
        complain(file, "is a directory, not a scenario");
    } else if ((text = malloc(MAX_FILE + 1)) != NULL) {
        size_t length = fread(text, 1, MAX_FILE + 1, in);
        const char *why = ferror(in)          ? "cannot be read"
                          : length > MAX_FILE ? "is too large for a scenario (1 MiB)"
                          : memchr(text, '\0', length) != NULL ? "is not a text file"
                                                               : NULL;
        if (why != NULL) {
            *status = ferror(in) ? EXIT_IO : EXIT_USAGE;
            complain(file, why);
            free(text);
            text = NULL;
        } else {
            text[length] = '\0';
        }
    }
    if (in != NULL)
        fclose(in);
    return text;
}

/* ---- the difference ---- */

struct lines {
    const char **line;
    size_t *length, count;
};

static bool split(const char *text, struct lines *l)
{
    size_t count = 1;
    for (const char *s = text; (s = strchr(s, '\n')) != NULL; s++)
        count++;
    l->count = 0;
    l->line = calloc(count, sizeof *l->line);
    l->length = calloc(count, sizeof *l->length);
    if (l->line == NULL || l->length == NULL)
        return false;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        l->line[l->count] = text;
        l->length[l->count++] = length - (length > 0 && text[length - 1] == '\r');
        text += length + (text[length] == '\n');
    }
    return true;
}

static bool same(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
    return a->length[i] == b->length[j] && memcmp(a->line[i], b->line[j], a->length[i]) == 0;
}

static void print_line(char mark, const struct lines *l, size_t i)
{
    fprintf(stderr, "%c %.*s\n", mark, (int)l->length[i], l->line[i]);
}

/* Maximum number of lines compared per trace, not counting equal lines at either end. */
#define MAX_DIFF 4000

/* Prints the lines that differ. common[i][j] is the length of the longest common subsequence of
 * the lines from a[i] on and from b[j] on. */
static void print_middle(const struct lines *a, size_t i, size_t a_end, const struct lines *b,
                         size_t j, size_t b_end)
{
    size_t width = b_end - j + 1, a_first = i, b_first = j;
    uint32_t *common = calloc((a_end - i + 1) * width, sizeof *common);
    if (common == NULL)
        return;
#define COMMON(x, y) common[((x)-a_first) * width + ((y)-b_first)]
    for (size_t x = a_end; x-- > i;)
        for (size_t y = b_end; y-- > j;) {
            uint32_t down = COMMON(x + 1, y), right = COMMON(x, y + 1);
            COMMON(x, y) = same(a, x, b, y) ? COMMON(x + 1, y + 1) + 1
                           : down > right   ? down
                                            : right;
        }
    while (i < a_end || j < b_end) {
        if (i < a_end && j < b_end && same(a, i, b, j)) {
            i++;
            j++;
        } else if (j == b_end || (i < a_end && COMMON(i + 1, j) >= COMMON(i, j + 1))) {
            print_line('-', a, i++);
        } else {
            print_line('+', b, j++);
        }
    }
#undef COMMON
    free(common);
}

static void print_diff(const struct lines *a, const struct lines *b)
{
    size_t first = 0, a_end = a->count, b_end = b->count;
    while (first < a_end && first < b_end && same(a, first, b, first))
        first++;
    while (a_end > first && b_end > first && same(a, a_end - 1, b, b_end - 1)) {
        a_end--;
        b_end--;
    }
    bool long_one = a_end - first > MAX_DIFF || b_end - first > MAX_DIFF;
    if (long_one) {
        a_end = a_end - first > MAX_DIFF ? first + MAX_DIFF : a_end;
        b_end = b_end - first > MAX_DIFF ? first + MAX_DIFF : b_end;
    }
    print_middle(a, first, a_end, b, first, b_end);
    if (long_one)
        fprintf(stderr, "  ... (further differences are not shown)\n");
}

/* Compares two traces. If they differ, prints the difference and returns true. Line endings and
 * a missing final newline do not count. */
static bool differs(const struct request *r, const char *expected, const char *told)
{
    struct lines a = {0}, b = {0};
    bool different = !split(expected, &a) || !split(told, &b) || a.count != b.count;
    for (size_t i = 0; i < a.count && !different; i++)
        different = !same(&a, i, &b, i);
    if (different && !r->quiet) {
        fprintf(stderr, "elect sim: %s: the trace differs (- expected, + actual)\n", r->file);
        print_diff(&a, &b);
    }
    free(a.line);
    free(a.length);
    free(b.line);
    free(b.length);
    return different;
}

/* ---- rewriting ---- */

/* Replaces a file with a new one written beside it. If `link` is a symbolic link, its target is
 * replaced. */
static int rewrite(const char *link, const char *text, size_t script, const char *told)
{
    char name[PATH_MAX + 8], file[PATH_MAX];
    struct stat st;
    if (realpath(link, file) == NULL || stat(file, &st) != 0 || !S_ISREG(st.st_mode))
        return complain(link, "is not a regular file: it cannot be rewritten");
    snprintf(name, sizeof name, "%s.XXXXXX", file);
    int fd = mkstemp(name);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out == NULL) {
        args_complain("sim", name, access_text(errno, name, ACCESS_MAKE));
        return EXIT_IO;
    }
    fwrite(text, 1, script, out);
    fputs(told, out);
    bool fine = !ferror(out) && fchmod(fd, st.st_mode & 07777) == 0;
    fine = fine && (fchown(fd, st.st_uid, st.st_gid) == 0 || geteuid() != 0);
    fine = fclose(out) == 0 && fine && rename(name, file) == 0;
    if (fine)
        return EXIT_FINE;
    complain(link, strerror(errno));
    unlink(name);
    return EXIT_IO;
}

/* Replaces the trace in a scenario file: everything after the line ----, which is added if
 * missing. */
static int write_expectation(const struct request *r, const struct scenario *s, const char *text,
                             const char *told)
{
    if (s->expects)
        return rewrite(r->file, text, s->expected_offset, told);
    size_t length = strlen(text);
    const char *mark =
        length > 0 && text[length - 1] == '\n' ? SCENARIO_STORY "\n" : "\n" SCENARIO_STORY "\n";
    char *script = malloc(length + strlen(mark) + 1);
    if (script == NULL)
        return complain(r->file, "not enough memory");
    memcpy(script, text, length);
    memcpy(script + length, mark, strlen(mark) + 1);
    int status = rewrite(r->file, script, strlen(script), told);
    free(script);
    return status;
}

/* ---- playing ---- */

static int judge(const struct request *r, const struct scenario *s, const struct play *p,
                 const char *text, const struct trace *story)
{
    struct outcome o;
    const char *expected = text + s->expected_offset, *expectation = NULL;
    outcome_of_play(&o, p);
    int status = outcome_exit(&o);
    if (r->rewrite) {
        status = write_expectation(r, s, text, story->text);
        expectation = "rewritten";
    } else if (s->expects) {
        status = differs(r, expected, story->text) ? EXIT_NO : EXIT_FINE;
        expectation = status == EXIT_FINE ? "met" : "broken";
    }
    if (r->json && !r->quiet)
        report_outcome(&o, expectation, true);
    return status;
}

/* Prints an error message about one line, or about the whole file if `line` is 0. */
static int complain_at(const char *file, unsigned line, const struct text *complaint)
{
    char where[PATH_MAX + 16];
    if (line > 0)
        snprintf(where, sizeof where, "%s:%u", file, line);
    else
        snprintf(where, sizeof where, "%s", file);
    return args_complain("sim", where, complaint->bytes);
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Plays the scenario again and prints its trace. The first run is silent, so that a scenario
 * that fails halfway prints only the error message. */
static int tell(const struct request *r, const struct scenario *s, struct play *p)
{
    struct text complaint;
    unsigned line;
    FILE *out = trace_open(r);
    struct trace aloud = {.out = out, .mode = r->trace, .verbose = r->verbose};
    if (out == NULL)
        return EXIT_USAGE;
    p->tell = trace_happening;
    p->listener = &aloud;
    scenario_play(s, p, &complaint, &line);
    return trace_close(r, out, EXIT_FINE);
}

int sim_scenario(const struct request *r)
{
    static struct scenario s;
    static struct play p;
    struct trace silent = {.collects = true};
    struct text complaint, outcome;
    unsigned line = 0;
    int status;
    if (r->trace_file != NULL && same_file(r->file, r->trace_file))
        return complain(r->trace_file,
                        "is the scenario itself, which would be overwritten: name another file");
    char *text = read_file(r->file, &status);
    if (text == NULL)
        return status;
    p.tell = trace_happening;
    p.listener = &silent;
    if (!scenario_parse(&s, text, &complaint, &line) || !scenario_play(&s, &p, &complaint, &line)) {
        status = complain_at(r->file, line, &complaint);
    } else {
        text_clear(&outcome);
        trace_outcome(&p, &outcome);
        trace_collect(&silent, outcome.bytes, outcome.length);
        status = r->quiet || r->trace == TRACE_NONE ? EXIT_FINE : tell(r, &s, &p);
        if (status == EXIT_FINE && !r->json && !r->quiet)
            fputs(outcome.bytes, stdout);
        if (status == EXIT_FINE)
            status = judge(r, &s, &p, text, &silent);
    }
    free(silent.text);
    free(text);
    return status;
}
