/* Draws the live view on a canvas of styled characters, and writes it to the terminal as one
 * frame. */
#include "guide.h"
#include "screen.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROWS        24 /* used if the terminal does not report its size */
#define COLUMNS     80
#define RING_ROWS   20 /* a smaller view has no ring and no explanations */
#define RING_MIDDLE 17
#define RING_WIDTH  14
#define RING_TOP    7
#define RING_HEIGHT 5
#define TABLE       36
#define STORY       14
#define STORY_TEXT  10
#define KEYS        2 /* lines */
#define HELP_MARGIN 1
#define LEASE_WIDTH 20
#define SECOND      1000000

#define FRAME_PATIENCE 50 /* milliseconds */

enum style { PLAIN, BOLD, GOOD, BAD, WARNING, FAINT, BAR };

struct canvas {
    unsigned rows, columns;
    char *cell;
    uint8_t *style;
};

/* ---- the terminal ---- */

static void say(const struct cluster *g, const char *text)
{
    (void)!write(g->terminal, text, strlen(text));
}

void screen_enter(struct cluster *g)
{
    struct termios raw = g->page->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    /* The terminal stops a background process here. */
    tcsetattr(g->terminal, TCSANOW, &raw);
    atomic_store(&g->page->terminal, true);
    say(g, "\x1b[?1049h\x1b[?25l");
}

void screen_leave(struct cluster *g)
{
    sigset_t set, before;
    if (!atomic_exchange(&g->page->terminal, false))
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    /* With SIGTTOU blocked, a background process can write without being stopped. */
    sigprocmask(SIG_BLOCK, &set, &before);
    say(g, "\x1b[0m\x1b[?25h\x1b[?1049l");
    tcsetattr(g->terminal, TCSANOW, &g->page->before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- a canvas ---- */

__attribute__((format(printf, 5, 6))) static void
put(struct canvas *c, unsigned row, unsigned column, enum style style, const char *format, ...)
{
    char text[256];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    for (size_t i = 0; text[i] != '\0' && row < c->rows && column + i < c->columns; i++) {
        c->cell[row * c->columns + column + i] = text[i];
        c->style[row * c->columns + column + i] = (uint8_t)style;
    }
}

static const char *escape(enum style style, bool colour)
{
    static const char *const codes[] = {
        [PLAIN] = "\x1b[0m",    [BOLD] = "\x1b[0;1m",     [GOOD] = "\x1b[0;1;32m",
        [BAD] = "\x1b[0;1;31m", [WARNING] = "\x1b[0;33m", [FAINT] = "\x1b[0;2m",
        [BAR] = "\x1b[0;7m"};
    return colour ? codes[style] : "";
}

/* Writes a frame without blocking: if the terminal accepts no more output, for example after ^S,
 * the rest is dropped. Returns false if the terminal is gone. */
static bool write_frame(int fd, const char *frame, size_t length)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    while (length > 0) {
        ssize_t put = write(fd, frame, length);
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (put < 0 && poll(&room, 1, FRAME_PATIENCE) == 0)
            return true;
        frame += put > 0 ? put : 0;
        length -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

static bool show(const struct canvas *c, bool colour, int fd)
{
    char *frame = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&frame, &length);
    if (out == NULL)
        return false;
    fputs("\x1b[H", out);
    for (unsigned row = 0; row < c->rows; row++) {
        unsigned end = c->columns, style = PLAIN;
        while (end > 0 && c->cell[row * c->columns + end - 1] == ' ' &&
               c->style[row * c->columns + end - 1] == PLAIN)
            end--;
        for (unsigned i = 0; i < end; i++) {
            if (c->style[row * c->columns + i] != style)
                fputs(escape((enum style)(style = c->style[row * c->columns + i]), colour), out);
            fputc(c->cell[row * c->columns + i], out);
        }
        fprintf(out, "%s\x1b[K%s", escape(PLAIN, colour), row + 1 < c->rows ? "\r\n" : "");
    }
    bool fine = fclose(out) == 0 && write_frame(fd, frame, length);
    free(frame);
    return fine;
}

/* ---- the members ---- */

static bool is_cut(const struct view *v, unsigned a, unsigned b)
{
    const struct cluster_page *page = v->cluster->page;
    return atomic_load(&page->part[a]) != atomic_load(&page->part[b]);
}

static bool runs(const struct view *v, unsigned member)
{
    return atomic_load(&v->cluster->page->runs[member]);
}

static bool stands(const struct view *v, unsigned member)
{
    return atomic_load(&v->cluster->page->stands[member]);
}

static bool leads(const struct view *v, unsigned member)
{
    return monitor_leads(v->monitor, member);
}

static enum style style_of(const struct view *v, unsigned member)
{
    const struct seen *s = &v->monitor->seen[member];
    return !runs(v, member)                             ? BAD
           : stands(v, member)                          ? WARNING
           : leads(v, member)                           ? GOOD
           : s->at != 0 && s->leader != CLUSTER_MEMBERS ? PLAIN
                                                        : WARNING;
}

static void add_term(char *text, size_t room, uint64_t term)
{
    char number[ELECT_TERM_TEXT];
    size_t length = strlen(text);
    if (term != 0)
        snprintf(text + length, room - length, " in term %s", elect_term_text(term, number));
}

static void describe(const struct view *v, unsigned member, char *text, size_t room)
{
    const struct seen *s = &v->monitor->seen[member];
    if (!runs(v, member))
        snprintf(text, room, "is dead");
    else if (stands(v, member))
        snprintf(text, room, "is stopped");
    else if (s->at == 0)
        snprintf(text, room, "is starting");
    else if (!monitor_answers(v->monitor, member))
        snprintf(text, room, "does not answer");
    else if (leads(v, member))
        snprintf(text, room, "LEADS");
    else if (s->leader != CLUSTER_MEMBERS)
        snprintf(text, room, "follows %u", s->leader + 1);
    else
        snprintf(text, room, "%s", s->state);
    if (monitor_answers(v->monitor, member) && s->leader != CLUSTER_MEMBERS)
        add_term(text, room, s->term);
}

/* ---- the parts ---- */

static void place(const struct view *v, double at, unsigned *row, unsigned *column)
{
    double angle = 2 * M_PI * at / v->cluster->members - M_PI / 2;
    *row = (unsigned)lround(RING_TOP + RING_HEIGHT * sin(angle));
    *column = (unsigned)lround(RING_MIDDLE + RING_WIDTH * cos(angle));
}

static void draw_ring(const struct view *v, struct canvas *c)
{
    unsigned n = v->cluster->members, row, column;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 1; k < 12 && !is_cut(v, i, (i + 1) % n); k++) {
            place(v, i + k / 12.0, &row, &column);
            put(c, row, column, FAINT, ".");
        }
    for (unsigned i = 0; i < n; i++) {
        place(v, i, &row, &column);
        put(c, row, column - 2, style_of(v, i),
            !runs(v, i)    ? " x%ux "
            : stands(v, i) ? "(z%uz)"
            : leads(v, i)  ? "[*%u*]"
                           : "( %u )",
            i + 1);
    }
}

static void draw_member(const struct view *v, struct canvas *c, unsigned row, unsigned column,
                        unsigned i)
{
    const struct seen *s = &v->monitor->seen[i];
    char text[64];
    bool there = runs(v, i) && !stands(v, i);
    describe(v, i, text, sizeof text);
    put(c, row, column, style_of(v, i), "%c%u %.27s", i == v->chosen ? '>' : ' ', i + 1, text);
    put(c, row, column + 31, PLAIN, "%5.0f %5.0f", there ? s->sends : 0, there ? s->takes : 0);
}

static void draw_lease(const struct view *v, struct canvas *c, unsigned row, unsigned column)
{
    static const char full[] = "####################";
    unsigned leader[CLUSTER_MEMBERS];
    int64_t now = boottime_now();
    if (monitor_leaders(v->monitor, leader) != 1 || v->cluster->mandate == ELECT_NO_MANDATE)
        return;
    const struct seen *s = &v->monitor->seen[leader[0]];
    double left = s->until > now ? (double)(s->until - now) / SECOND : 0;
    int width = left < 1 ? (int)(left * LEASE_WIDTH) : LEASE_WIDTH;
    put(c, row, column, PLAIN, " lease [%.*s%*s] %.2f s", width, full, LEASE_WIDTH - width, "",
        left);
}

static void draw_state(const struct view *v, struct canvas *c, unsigned row)
{
    unsigned leader[CLUSTER_MEMBERS], count = monitor_leaders(v->monitor, leader);
    char text[COLUMNS] = "no process leads";
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%u",
                                   i == 0           ? ""
                                   : i + 1 == count ? " and "
                                                    : ", ",
                                   leader[i] + 1);
    if (count == 1) {
        snprintf(text + length, sizeof text - length, " leads");
        add_term(text, sizeof text, v->monitor->seen[leader[0]].term);
    } else if (count > 1) {
        snprintf(text + length, sizeof text - length, " LEAD AT ONCE: split brain");
    }
    put(c, row, 1, count == 1 ? GOOD : count == 0 ? WARNING : BAD, "%s", text);
}

/* Draws a line of the chronicle from row `row` on, and returns the number of rows used. Rows
 * outside the canvas are not drawn. */
static unsigned draw_line(struct canvas *c, unsigned row, const struct view *v,
                          const struct line *line)
{
    enum style style = line->member == CLUSTER_MEMBERS ? BOLD : PLAIN;
    unsigned width = c->columns - STORY_TEXT - 1, lines = 0;
    char text[MONITOR_TEXT + 32];
    const char *rest = text;
    monitor_line(line, text, sizeof text);
    do {
        size_t length = text_fits(rest, width);
        if (row < c->rows) {
            if (lines == 0)
                put(c, row, 0, FAINT, "%8.3f", (double)(line->at - v->began) / SECOND);
            put(c, row + lines, STORY_TEXT, style, "%.*s", (int)length, rest);
        }
        lines++;
        rest += length;
        rest += *rest == ' ';
    } while (*rest != '\0');
    return lines;
}

static void draw_story(const struct view *v, struct canvas *c, unsigned row, unsigned end)
{
    unsigned room = end > row ? end - row : 0, first = v->monitor->lines, used = 0;
    while (first > 0) {
        unsigned lines = draw_line(c, c->rows, v, &v->monitor->line[first - 1]);
        if (used + lines > room)
            break;
        used += lines;
        first--;
    }
    for (; first < v->monitor->lines; first++)
        row += draw_line(c, row, v, &v->monitor->line[first]);
}

/* ---- the large view, the small view and the help ---- */

static void draw_title(const struct view *v, struct canvas *c)
{
    put(c, 0, 0, BAR, " elect demo: %u processes, %s, mandate %s %60s", v->cluster->members,
        elect_algorithm_name((enum elect_algorithm)v->cluster->algorithm),
        cluster_mandate(v->cluster), "");
}

static void draw_large(const struct view *v, struct canvas *c)
{
    unsigned keys = c->rows - KEYS;
    draw_title(v, c);
    draw_state(v, c, 1);
    draw_ring(v, c);
    put(c, 2, TABLE, FAINT, "process                        out/s  in/s");
    for (unsigned i = 0; i < v->cluster->members; i++)
        draw_member(v, c, 3 + i, TABLE, i);
    draw_lease(v, c, 3 + v->cluster->members, TABLE);
    draw_story(v, c, STORY, keys - 1);
    put(c, keys - 1, 1, BOLD, "%s", v->hint);
    put(c, keys, 0, BAR,
        " 1-%u choose  l leader  k kill -9  K kill -9 with its guardian  s stop%30s",
        v->cluster->members, "");
    put(c, keys + 1, 0, BAR,
        " c continue, start  x cut off  h heal  r resign  a algorithm  ? help  q quit%30s", "");
}

/* Draws the view for a small terminal, without the ring. If the table is too long, draws only
 * the rows around the chosen member. */
static void draw_small(const struct view *v, struct canvas *c)
{
    unsigned row = 0, keys = c->rows - 1, members = v->cluster->members;
    bool title = c->rows > members + 3, hint = c->rows > members + 4;
    if (title)
        draw_title(v, c);
    row += title;
    draw_state(v, c, row++);
    unsigned end = keys - hint, room = end > row ? end - row : 1;
    unsigned shown = room < members ? room : members;
    unsigned first = v->chosen < shown ? 0 : v->chosen + 1 - shown;
    for (unsigned i = 0; i < shown; i++)
        draw_member(v, c, row++, 0, first + i);
    if (row < end)
        draw_lease(v, c, row++, 0);
    draw_story(v, c, row, end);
    if (hint)
        put(c, end, 1, BOLD, "%.*s",
            (int)(strlen(v->hint) < c->columns ? strlen(v->hint) : strcspn(v->hint, ";")), v->hint);
    put(c, keys, 0, BAR,
        c->columns < 2 * STORY_TEXT + 10 ? "1-%ulkKscxhra?q%80s"
                                         : " 1-%u l k K s c x h r a ? q%80s",
        members, "");
}

/* Draws the help from line `first` on, and returns its total number of lines. On a canvas
 * without cells, only counts. */
static unsigned draw_help(struct canvas *c, unsigned first, unsigned rows)
{
    unsigned line = 0;
    for (unsigned i = 0; guide_help[i] != NULL; i++) {
        const char *rest = guide_help[i];
        do {
            size_t length = text_fits(rest, c->columns - 2 * HELP_MARGIN);
            if (c->cell != NULL && line >= first && line - first < rows)
                put(c, line - first, HELP_MARGIN, PLAIN, "%.*s", (int)length, rest);
            line++;
            rest += length;
            rest += *rest == ' ';
        } while (*rest != '\0');
    }
    return line;
}

static struct canvas measure(const struct cluster *g)
{
    struct winsize size = {0};
    struct canvas c = {.rows = ROWS, .columns = COLUMNS};
    if (ioctl(g->terminal, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        c.rows = size.ws_row > KEYS ? size.ws_row : KEYS + 1;
        c.columns = size.ws_col > 2 * STORY_TEXT ? size.ws_col : 2 * STORY_TEXT;
    }
    return c;
}

unsigned screen_help_pages(const struct cluster *g)
{
    struct canvas c = measure(g);
    unsigned rows = c.rows - 1;
    return (draw_help(&c, 0, rows) + rows - 1) / rows;
}

bool screen_draw(const struct view *v)
{
    struct canvas c = measure(v->cluster);
    c.cell = malloc((size_t)c.rows * c.columns);
    c.style = calloc(c.rows, c.columns);
    bool fine = c.cell != NULL && c.style != NULL;
    if (fine) {
        memset(c.cell, ' ', (size_t)c.rows * c.columns);
        if (v->help > 0) {
            draw_help(&c, (v->help - 1) * (c.rows - 1), c.rows - 1);
            unsigned pages = screen_help_pages(v->cluster);
            put(&c, c.rows - 1, 0, BAR, " %u/%u  %s%80s", v->help, pages,
                v->help < pages ? "?: more" : "?: back", "");
        } else if (c.rows >= RING_ROWS && c.columns >= COLUMNS) {
            draw_large(v, &c);
        } else {
            draw_small(v, &c);
        }
        fine = show(&c, v->colour, v->cluster->terminal);
    }
    free(c.cell);
    free(c.style);
    return fine;
}
