/* Reads the configuration: a file, the files in conf.d beside it, their sections and lines. inih
 * splits a line into key and value; config_values.c reads the value. */
#include "config_internal.h"

#include "../base/parse.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND  1000u
#define SECOND       1000000u
#define SHORT        '@'   /* [member NAME] is given to inih as [@N] */
#define CONFIG_BYTES 65536 /* of a file */

static const struct {
    enum config_section section;
    const char *word;
} keys[] = {
#define X(section, name, word, value, text) {SECTION_##section, word},
    CONFIG_KEYS(X)
#undef X
};

/* ---- lines ---- */

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

static bool add_group(struct config *c, const char *name)
{
    for (unsigned i = 0; i < c->groups; i++)
        if (strcmp(c->group[i], name) == 0)
            return true;
    if (!config_is_name(name))
        return config_complain_name(c, name);
    if (c->groups == STORE_GROUPS)
        return config_complain(c, "too many groups", NULL, ": at most 64");
    memcpy(c->group[c->groups++], name, strlen(name));
    return true;
}

static bool take_line(struct config *c, enum config_section section, struct config_member *m,
                      const char *word, const char *value)
{
    const char *known[KEY_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].section != section)
            continue;
        if (strcmp(keys[i].word, word) == 0)
            return config_take_value(c, m, (enum config_key)i, value);
        known[count++] = keys[i].word;
    }
    return config_complain_unknown(c, "unknown key ", word, known, count);
}

/* Called for each section, with `name` NULL, and for each key. */
static int handle(void *user, const char *section, const char *name, const char *value)
{
    static const char *const sections[] = {"cluster", "member NAME", "group NAME"};
    struct config *c = user;
    const char *word = value != NULL ? value : "";
    uint64_t index;
    if (strcmp(section, "cluster") == 0)
        return name == NULL || take_line(c, SECTION_CLUSTER, NULL, name, word);
    if (strncmp(section, "member ", 7) == 0)
        return name == NULL
                   ? member_of(c, section + 7) != NULL
                   : config_complain(c, "[member NAME] must be the first on its line", NULL, "");
    if (name != NULL && section[0] == SHORT && c->members > 0 &&
        parse_number(section + 1, c->members - 1, &index))
        return take_line(c, SECTION_MEMBER, &c->member[index], name, word);
    if (strncmp(section, "group ", 6) == 0)
        return add_group(c, section + 6) &&
               (name == NULL || config_complain(c, "unknown key", name, ": a group has none yet"));
    return config_complain_unknown(c, "unknown section ", section, sections, 3);
}

/* ---- a text ---- */

/* Replaces [member NAME] by [@N] in the text: inih truncates the names of long sections. */
static void shorten(const struct config *c, const char *name, char *at, const char *end)
{
    char number[8];
    int length = snprintf(number, sizeof number, "%c%u]", SHORT,
                          (unsigned)(config_member(c, name) - c->member));
    memset(at, ' ', (size_t)(end - at) + 1);
    memcpy(at, number, (size_t)length);
}

/* inih reports only sections that have keys, and a group has none, so the sections are read first.
 * Returns the line of the first that is unknown, or 0. */
static int take_sections(struct config *c, char *text)
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
        if (!handle(c, section, NULL, NULL))
            return line;
        if (strncmp(section, "member ", 7) == 0)
            shorten(c, section + 7, at + 1, end);
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
    c->delay = 20 * MILLISECOND;
    c->rho = 10000;
    c->mandate = ELECT_MAJORITY;
    snprintf(c->path, sizeof c->path, "%s", path);
    snprintf(c->key_file, sizeof c->key_file, "%.*skey", config_folder(c), c->path);
}

/* Puts the file, and the line if it is known, before the complaint. */
static bool locate(struct config *c, const char *path, int line)
{
    struct text why = c->complaint;
    text_clear(&c->complaint);
    char clean[CONFIG_PATH + 32];
    snprintf(clean, sizeof clean, "%s", path);
    text_clean(clean); /* no control character reaches a terminal */
    text_add(&c->complaint, clean);
    if (line > 0) {
        text_add(&c->complaint, ":");
        text_add_number(&c->complaint, (uint64_t)line);
    }
    text_add(&c->complaint, ": ");
    text_add(&c->complaint,
             why.length > 0 ? why.bytes : "no key and value: expected such as lease = 1s");
    return false;
}

static bool take_text(struct config *c, const char *path, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        config_complain(c, "no memory", NULL, "");
        return locate(c, path, 0);
    }
    int line = take_sections(c, copy);
    if (line == 0)
        line = ini_parse_string(copy, handle, c);
    free(copy);
    return (line == 0 && c->complaint.length == 0) || locate(c, path, line);
}

/* The folders that the file does not name. */
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
    begin(c, path);
    return take_text(c, path, text) && finish(c);
}

/* ---- files ---- */

static bool take_file(struct config *c, const char *path)
{
    static char text[CONFIG_BYTES + 1];
    FILE *in = fopen(path, "re");
    size_t length = in != NULL ? fread(text, 1, sizeof text, in) : 0;
    bool fine = in != NULL && ferror(in) == 0;
    int error = errno;
    if (in != NULL)
        fclose(in);
    if (!fine || length > CONFIG_BYTES || memchr(text, '\0', length) != NULL) {
        config_complain(c,
                        !fine                   ? strerror(error)
                        : length > CONFIG_BYTES ? "too long a file"
                                                : "no text",
                        NULL, "");
        return locate(c, path, 0);
    }
    text[length] = '\0';
    return take_text(c, path, text);
}

static int is_conf(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".conf") == 0;
}

bool config_load(struct config *c, const char *path)
{
    char folder[CONFIG_PATH + 16], file[CONFIG_PATH + 300];
    struct dirent **entries;
    begin(c, path);
    if (strlen(path) >= CONFIG_PATH) {
        config_complain(c, "too long a path", NULL, ": at most 255 characters");
        return locate(c, path, 0);
    }
    snprintf(folder, sizeof folder, "%.*sconf.d", config_folder(c), path);
    bool fine = take_file(c, path);
    int count = scandir(folder, &entries, is_conf, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, entries[i]->d_name);
        fine = fine && take_file(c, file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return fine && finish(c);
}
