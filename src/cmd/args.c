/* See args.h. */
#include "args.h"

#include <stdio.h>
#include <string.h>

#define MAX_OPTIONS 64
/* The most bytes of a word of the user in an error message, so that the remedy after it remains
 * visible. A path is shown in full unless it is longer than a path of a socket or a state. */
#define SHOWN_MAX 512

static void (*reporter)(const char *complaint);

void args_report_to(void (*report)(const char *complaint)) { reporter = report; }

/* Prints an error message on a single line. Control characters, which may come from an argument,
 * become question marks. */
int args_complain(const char *verb, const char *what, const char *why)
{
    struct text line;
    size_t length = strlen(what);
    text_clear(&line);
    text_add_bytes(&line, what, length > SHOWN_MAX ? SHOWN_MAX : length);
    text_add(&line, length > SHOWN_MAX ? "..." : "");
    text_add(&line, *what ? ": " : "");
    text_add(&line, why);
    for (char *s = line.bytes; *s != '\0'; s++)
        *s = (char)((unsigned char)*s < ' ' || *s == 127 ? '?' : *s);
    if (reporter != NULL)
        reporter(line.bytes);
    else
        fprintf(stderr, "elect%s%s: %s\n", *verb ? " " : "", verb, line.bytes);
    return EXIT_USAGE;
}

int args_complain_option(const char *verb, const char *option, const char *why)
{
    char what[64];
    snprintf(what, sizeof what, "%s%s", *option ? "--" : "", option);
    return args_complain(verb, what, why);
}

static int unknown(const struct args *a, const char *name, size_t length,
                   const struct option_spec *specs, size_t count)
{
    const char *names[MAX_OPTIONS];
    struct text why;
    for (size_t i = 0; i < count; i++)
        names[i] = specs[i].name;
    const char *nearest = choice_nearest(name, length, names, count);
    text_clear(&why);
    if (nearest != NULL) {
        text_add(&why, "unknown option, did you mean --");
        text_add(&why, nearest);
        text_add(&why, "?");
    } else {
        text_add(&why, "unknown option, see elect ");
        text_add(&why, a->verb);
        text_add(&why, " --help");
    }
    args_complain(a->verb, a->argv[a->at - 1], why.bytes);
    return ARGS_BAD;
}

static int with_value(struct args *a, const struct option_spec *spec, int index,
                      const char *attached, const char **value)
{
    const char *option = a->argv[a->at - 1];
    *value = attached;
    if (spec->value == NULL) {
        if (attached == NULL)
            return index;
        args_complain(a->verb, option, "this option has no value");
        return ARGS_BAD;
    }
    if (attached == NULL) {
        if (a->at == a->argc) {
            struct text why;
            text_clear(&why);
            text_add(&why, "expected a value: ");
            text_add(&why, spec->value);
            args_complain(a->verb, option, why.bytes);
            return ARGS_BAD;
        }
        *value = a->argv[a->at++];
    }
    return index;
}

int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value)
{
    if (a->at == a->argc)
        return ARGS_END;
    char *word = a->argv[a->at++];
    if (!a->only_words && strcmp(word, "--") == 0) {
        a->only_words = true;
        return args_next(a, specs, count, value);
    }
    if (a->only_words || word[0] != '-' || word[1] == '\0') {
        *value = word;
        return ARGS_WORD;
    }
    if (word[1] != '-') {
        for (size_t i = 0; i < count; i++)
            if (specs[i].letter == word[1] && (word[2] == '\0' || specs[i].value != NULL))
                return with_value(a, &specs[i], (int)i, word[2] ? word + 2 : NULL, value);
        return unknown(a, word + 1, strlen(word + 1), specs, count);
    }
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    for (size_t i = 0; i < count; i++)
        if (strlen(specs[i].name) == length && memcmp(specs[i].name, name, length) == 0)
            return with_value(a, &specs[i], (int)i, equals != NULL ? equals + 1 : NULL, value);
    return unknown(a, name, length, specs, count);
}

bool args_output(const char *value, bool *json, struct text *complaint)
{
    static const char *const words[] = {"text", "json"};
    uint8_t choice = 0;
    bool fine = choice_parse(value, words, 2, &choice, complaint);
    *json = choice == 1;
    return fine;
}

#define HELP_COLUMN 33
#define HELP_WIDTH  80

void args_wrapped(const char *text, int indent)
{
    const char *gap = "";
    for (size_t column = (size_t)indent; *text != '\0'; gap = " ") {
        size_t length = strcspn(text, " \n");
        if (column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", indent, "");
            column = (size_t)indent;
            gap = "";
        }
        printf("%s%.*s", gap, (int)length, text);
        column += strlen(gap) + length;
        text += length;
        column = *text == '\n' ? HELP_WIDTH : column;
        text += *text != '\0';
    }
    putchar('\n');
}

void args_help_text(const char *text) { args_wrapped(text, 0); }

void args_help_options(const struct option_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char left[64];
        int length = snprintf(left, sizeof left, "  %c%c%s--%s%s%s", specs[i].letter ? '-' : ' ',
                              specs[i].letter ? specs[i].letter : ' ',
                              specs[i].letter ? ", " : "  ", specs[i].name,
                              specs[i].value ? " " : "", specs[i].value ? specs[i].value : "");
        if (length >= HELP_COLUMN)
            printf("%s\n%*s", left, HELP_COLUMN, "");
        else
            printf("%-*s", HELP_COLUMN, left);
        args_wrapped(specs[i].help, HELP_COLUMN);
    }
}
