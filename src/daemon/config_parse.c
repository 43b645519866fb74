/* Reads the configuration file and its conf.d. The inih library splits a line into key and value;
 * config_values.c parses the value. */
#include "config_internal.h"

#include "../base/access.h"
#include "../base/parse.h"
#include "level.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MILLISECOND  1000u
#define SECOND       1000000u
#define SHORT_MEMBER '@' /* inih sees [member NAME] as [@N] */
#define SHORT_GROUP  '%' /* inih sees [group NAME] as [%N] */
#define CONFIG_BYTES 65536

static const struct {
    enum config_section section;
    const char *word;
} keys[] = {
#define X(section, name, word, value, text) {SECTION_##section, word},
    CONFIG_KEYS(X)
#undef X
};

_Static_assert(KEY_COUNT <= 64, "a bit for each key");

/* Parser state. A section may occur in several files, but only once in each. A key may occur only
 * once in all files, because a second value would silently replace the first one. */
struct reader {
    struct config *c;
    /* Keys set so far, one bit (1 << enum config_key) each. */
    uint64_t cluster, member[SESSION_PEERS], group[STORE_GROUPS];
    /* Sections that have occurred in the current file. */
    bool cluster_here, member_here[SESSION_PEERS], group_here[STORE_GROUPS];
    bool fine;
};

/* ---- lines ---- */

static bool once(struct reader *r, bool *here, const char *section)
{
    bool again = *here;
    *here = true;
    return !again || config_complain(r->c, "section", section,
                                     " is repeated in this file: put its keys into one section");
}

static struct config_member *member_of(struct config *c, const char *name)
{
    struct config_member *m = (struct config_member *)config_member(c, name);
    if (m != NULL)
        return m;
    if (!config_is_name(name) || c->members == SESSION_PEERS) {
        if (!config_is_name(name))
            config_complain_name(c, name);
        else
            config_complain(c, "too many members", NULL, ": at most 64");
        return NULL;
    }
    m = &c->member[c->members++];
    memcpy(m->name, name, strlen(name));
    return m;
}

static unsigned group_index(const struct config *c, const char *name)
{
    unsigned i = 0;
    while (i < c->groups && strcmp(c->group[i], name) != 0)
        i++;
    return i;
}

static bool add_group(struct reader *r, const char *section)
{
    struct config *c = r->c;
    const char *name = section + 6;
    unsigned i = group_index(c, name);
    if (i < c->groups)
        return once(r, &r->group_here[i], section);
    if (!config_is_name(name))
        return config_complain_name(c, name);
    if (c->groups == STORE_GROUPS)
        return config_complain(c, "too many groups", NULL, ": at most 64");
    memcpy(c->group[c->groups++], name, strlen(name));
    return once(r, &r->group_here[i], section);
}

static bool add_member(struct reader *r, const char *section)
{
    const struct config_member *m = member_of(r->c, section + 7);
    return m != NULL && once(r, &r->member_here[m - r->c->member], section);
}

/* `index` is that of the section's member or group. */
static bool take_line(struct reader *r, enum config_section section, unsigned index,
                      const char *word, const char *value)
{
    static const char *const places[] = {" belongs in the section [cluster]",
                                         " belongs in a section [member NAME]",
                                         " belongs in a section [group NAME]"};
    const char *known[KEY_COUNT], *elsewhere = NULL;
    uint64_t *given = section == SECTION_MEMBER  ? &r->member[index]
                      : section == SECTION_GROUP ? &r->group[index]
                                                 : &r->cluster;
    size_t count = 0;
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].section != section) {
            elsewhere = strcmp(keys[i].word, word) == 0 ? places[keys[i].section] : elsewhere;
            continue;
        }
        if (strcmp(keys[i].word, word) == 0) {
            bool again = (*given >> i & 1) != 0;
            *given |= UINT64_C(1) << i;
            return again ? config_complain(r->c, "key", word, " is set twice: remove one of them")
                         : config_take_value(r->c, index, (enum config_key)i, value);
        }
        known[count++] = keys[i].word;
    }
    return elsewhere != NULL ? config_complain(r->c, "key", word, elsewhere)
                             : config_complain_unknown(r->c, "unknown key ", word, known, count);
}

static bool take_section(struct reader *r, const char *section)
{
    static const char *const sections[] = {"cluster", "member NAME", "group NAME"};
    if (strcmp(section, "cluster") == 0)
        return once(r, &r->cluster_here, section);
    if (strncmp(section, "member ", 7) == 0)
        return add_member(r, section);
    if (strncmp(section, "group ", 6) == 0)
        return add_group(r, section);
    return config_complain_unknown(r->c, "unknown section ", section, sections, 3);
}

static int take_key(void *reader, const char *section, const char *name, const char *value)
{
    struct reader *r = reader;
    struct config *c = r->c;
    const char *word = value != NULL ? value : "";
    uint64_t index;
    if (*section == '\0')
        return config_complain(c, "a line before the first section", NULL,
                               ": expected a section, for example [cluster]");
    if (strcmp(section, "cluster") == 0)
        return take_line(r, SECTION_CLUSTER, 0, name, word);
    if (section[0] == SHORT_MEMBER && c->members > 0 &&
        parse_number(section + 1, c->members - 1, &index))
        return take_line(r, SECTION_MEMBER, (unsigned)index, name, word);
    if (section[0] == SHORT_GROUP && c->groups > 0 &&
        parse_number(section + 1, c->groups - 1, &index))
        return take_line(r, SECTION_GROUP, (unsigned)index, name, word);
    return config_complain(c, "section", section, " must be the first on its line");
}

/* ---- a text ---- */

/* Replaces [member NAME] with [@N], or [group NAME] with [%N], because inih truncates long section
 * names. */
static void shorten(char kind, unsigned index, char *at, const char *end)
{
    char number[16];
    int length = snprintf(number, sizeof number, "%c%u]", kind, index);
    memset(at, ' ', (size_t)(end - at) + 1);
    memcpy(at, number, (size_t)length);
}

/* Reads all sections before the keys: inih does not report empty sections, and a group needs no
 * keys. Returns the line of the first section with a mistake, or 0. */
static int take_sections(struct reader *r, char *text)
{
    int line = 1;
    ini_allow_multiline = false;
    ini_stop_on_first_error = true;
    for (; *text != '\0'; text += strcspn(text, "\n"), text += *text == '\n', line++) {
        char *at = text + strspn(text, " \t\v\f\r\xef\xbb\xbf"), *end = at + strcspn(at, "]\n");
        char section[128];
        if (*at != '[' || *end != ']')
            continue;
        size_t length = (size_t)(end - at) - 1;
        length = length < sizeof section ? length : sizeof section - 1;
        memcpy(section, at + 1, length);
        section[length] = '\0';
        if (!take_section(r, section))
            return line;
        if (strncmp(section, "member ", 7) == 0)
            shorten(SHORT_MEMBER, (unsigned)(config_member(r->c, section + 7) - r->c->member),
                    at + 1, end);
        else if (strncmp(section, "group ", 6) == 0)
            shorten(SHORT_GROUP, group_index(r->c, section + 6), at + 1, end);
    }
    return 0;
}

static void begin(struct config *c, const char *path)
{
    memset(c, 0, sizeof *c);
    c->lease = SECOND;
    c->renewal = 200 * MILLISECOND;
    c->max_lease = 10 * SECOND;
    c->testament = true;
    c->hook_timeout = 10 * SECOND;
    c->log_level = LEVEL_INFO;
    c->delay = 20 * MILLISECOND;
    c->rho = 10000;
    c->mandate = ELECT_MAJORITY;
    snprintf(c->path, sizeof c->path, "%s", path);
    snprintf(c->key_file, sizeof c->key_file, "%.*skey", config_folder(c), c->path);
}

/* Prefixes the complaint with the file name and the line number. If `line` is 0, omits the
 * number. */
static bool locate(struct config *c, const char *path, int line)
{
    struct text why = c->complaint;
    text_clear(&c->complaint);
    char clean[CONFIG_PATH + 32];
    snprintf(clean, sizeof clean, "%s", path);
    text_clean(clean); /* no control characters on a terminal */
    text_add(&c->complaint, clean);
    if (line > 0) {
        text_add(&c->complaint, ":");
        text_add_number(&c->complaint, (uint64_t)line);
    }
    text_add(&c->complaint, ": ");
    c->reason = c->complaint.length;
    text_add(&c->complaint,
             why.length > 0 ? why.bytes : "not a key and a value: expected for example lease = 1s");
    return false;
}

static bool take_text(struct reader *r, const char *path, const char *text)
{
    struct config *c = r->c;
    char *copy = strdup(text);
    if (copy == NULL) {
        config_complain(c, "out of memory", NULL, "");
        return locate(c, path, 0);
    }
    r->cluster_here = false;
    memset(r->member_here, 0, sizeof r->member_here);
    memset(r->group_here, 0, sizeof r->group_here);
    int line = take_sections(r, copy);
    if (line == 0)
        line = ini_parse_string(copy, take_key, r);
    free(copy);
    return (line == 0 && c->complaint.length == 0) || locate(c, path, line);
}

static void set_default_folders(struct config *c)
{
    static const char state_dir[] = "/var/lib/elect", run_dir[] = "/run/elect";
    if (c->run_dir[0] == '\0' && c->state_dir[0] != '\0')
        memcpy(c->run_dir, c->state_dir, sizeof c->run_dir);
    else if (c->run_dir[0] == '\0')
        memcpy(c->run_dir, run_dir, sizeof run_dir);
    if (c->state_dir[0] == '\0')
        memcpy(c->state_dir, state_dir, sizeof state_dir);
}

static bool finish(struct config *c)
{
    set_default_folders(c);
    return config_check(c) || locate(c, c->path, 0);
}

bool config_parse(struct config *c, const char *path, const char *text)
{
    struct reader r = {.c = c};
    begin(c, path);
    return take_text(&r, path, text) && finish(c);
}

/* ---- files ---- */

/* Reads a regular file. Returns the number of bytes, at most `room`; -1 and sets errno if the file
 * cannot be read. A FIFO or a device is refused, because reading it could block or never end. */
static ssize_t read_regular(const char *path, char *to, size_t room)
{
    struct stat is = {0};
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    bool regular = fstat(fd, &is) == 0 && S_ISREG(is.st_mode);
    ssize_t got = regular ? 1 : -1;
    errno = S_ISDIR(is.st_mode) ? EISDIR : EINVAL;
    while (got > 0 && length < room) {
        got = read(fd, to + length, room - length);
        length += got > 0 ? (size_t)got : 0;
    }
    int error = errno;
    close(fd);
    errno = error;
    return got < 0 ? -1 : (ssize_t)length;
}

static bool take_file(struct reader *r, const char *path)
{
    static char text[CONFIG_BYTES + 1];
    ssize_t length = read_regular(path, text, sizeof text);
    if (length < 0 || length > CONFIG_BYTES || memchr(text, '\0', (size_t)length) != NULL) {
        config_complain(r->c,
                        length > CONFIG_BYTES ? "the file is too long: at most 65536 bytes"
                        : length >= 0         ? "not a text file"
                        : errno == EINVAL     ? "not a regular file: copy it to one"
                                              : access_text(errno, path, ACCESS_READ),
                        NULL, "");
        return locate(r->c, path, 0);
    }
    text[length] = '\0';
    return take_text(r, path, text);
}

static int is_conf(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".conf") == 0;
}

bool config_each_part(const struct config *c, char folder[CONFIG_FILE],
                      void (*visit)(void *context, const char *path), void *context)
{
    char file[CONFIG_FILE + 300];
    struct dirent **entries;
    snprintf(folder, CONFIG_FILE, "%.*sconf.d", config_folder(c), c->path);
    int count = scandir(folder, &entries, is_conf, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
        visit(context, file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count >= 0;
}

static void take_part(void *context, const char *path)
{
    struct reader *r = context;
    r->fine = r->fine && take_file(r, path);
}

bool config_load(struct config *c, const char *path)
{
    char folder[CONFIG_FILE];
    struct reader r = {.c = c};
    begin(c, path);
    if (strlen(path) >= CONFIG_PATH) {
        config_complain(c, "the path is too long", NULL, ": at most 255 characters");
        return locate(c, path, 0);
    }
    r.fine = take_file(&r, path);
    if (!config_each_part(c, folder, take_part, &r) && r.fine && errno != ENOENT) {
        config_complain(c, access_text(errno, folder, ACCESS_READ), NULL, "");
        return locate(c, folder, 0);
    }
    return r.fine && finish(c);
}
