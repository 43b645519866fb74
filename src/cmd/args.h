/* Parses command lines. A table describes the options of a verb; the help text is generated from
 * the same table. */
#ifndef ELECT_CMD_ARGS_H
#define ELECT_CMD_ARGS_H

#include "../base/choice.h"
#include "../base/exit.h"

struct option_spec {
    const char *name;  /* without the dashes */
    char letter;       /* the letter of the short form; 0: none */
    const char *value; /* placeholder in the help; NULL: a switch */
    const char *help;
};

enum { ARGS_END = -1, ARGS_WORD = -2, ARGS_BAD = -3 };

struct args {
    const char *verb; /* for complaints */
    int argc, at;     /* `at` is the index of the next argument */
    char **argv;
    bool only_words; /* "--" was found, so all further arguments are words */
};

/* Returns the index in `specs` of the next option, and sets `value` to its value. Returns ARGS_WORD
 * if the next argument is a word, and sets `value` to the word. Returns ARGS_BAD after a complaint,
 * and ARGS_END after the last argument. */
int args_next(struct args *a, const struct option_spec *specs, size_t count, const char **value);

/* Prints one line "elect VERB: what: why" on standard error. Returns EXIT_USAGE. */
int args_complain(const char *verb, const char *what, const char *why);
/* From now on, complaints go to `report` instead of standard error, without "elect VERB: ". */
void args_report_to(void (*report)(const char *complaint));
/* Complains in the same way about a long option, whose name is given without its dashes. If
 * `option` is "", the complaint is not about an option. */
int args_complain_option(const char *verb, const char *option, const char *why);

/* Parses the value of -o: text or json. */
bool args_output(const char *value, bool *json, struct text *complaint);

/* Prints the text and a newline. Lines are at most 80 columns wide and indented by `indent`
 * columns. The caller has already printed the indentation of the first line. */
void args_wrapped(const char *text, int indent);
/* Prints a paragraph of the help text. A newline in the text starts a new line. */
void args_help_text(const char *text);
void args_help_options(const struct option_spec *specs, size_t count);

struct verb {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the verb */
    const char *summary;
};

#endif
