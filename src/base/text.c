/* See text.h. */
#include "text.h"

#include <string.h>

#define QUOTE_MAX 64

void text_cut(struct text *t, size_t length)
{
    t->length = length;
    t->bytes[length] = '\0';
}

void text_clear(struct text *t) { text_cut(t, 0); }

void text_add_bytes(struct text *t, const char *s, size_t length)
{
    size_t room = TEXT_MAX - 1 - t->length;
    if (length > room)
        length = room;
    memcpy(t->bytes + t->length, s, length);
    t->length += length;
    t->bytes[t->length] = '\0';
}

void text_add(struct text *t, const char *s) { text_add_bytes(t, s, strlen(s)); }

static bool is_printable(char c) { return c >= ' ' && c < 0x7f; }

void text_add_quoted(struct text *t, const char *word)
{
    size_t length = strlen(word);
    text_add(t, "\"");
    for (size_t i = 0; i < length && i < QUOTE_MAX; i++)
        text_add_bytes(t, is_printable(word[i]) ? &word[i] : "?", 1);
    text_add(t, length <= QUOTE_MAX ? "\"" : "...\"");
}

bool text_complain(struct text *t, const char *where, const char *what, const char *remedy)
{
    text_add(t, where);
    text_add(t, ": ");
    text_add(t, what);
    text_add(t, remedy);
    return false;
}

void text_clean(char *s)
{
    for (; *s != '\0'; s++)
        *s = is_printable(*s) ? *s : '?';
}

/* Returns the length in bytes of the first character of `s`; 0 if that character must not be
 * printed. */
static size_t character_length(const unsigned char *s)
{
    /* For each length, the lowest permitted code: a lower one is an overlong encoding or a C1
     * control character. */
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    size_t length = s[0] < 0x7f             ? 1
                    : (s[0] & 0xe0) == 0xc0 ? 2
                    : (s[0] & 0xf0) == 0xe0 ? 3
                    : (s[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    uint32_t code = length > 1 ? s[0] & (0x7fu >> length) : s[0];
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[length] || surrogate || code > 0x10ffff ? 0 : length;
}

void text_clean_utf8(char *s)
{
    while (*s != '\0') {
        size_t length = character_length((const unsigned char *)s);
        if (length == 0)
            *s = '?';
        s += length > 0 ? length : 1;
    }
}

void text_add_number(struct text *t, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    text_add_bytes(t, digits + first, sizeof digits - first);
}

size_t text_fits(const char *s, size_t width)
{
    size_t length = strlen(s), at = width;
    if (length <= width)
        return length;
    while (at > 0 && s[at] != ' ')
        at--;
    return at > 0 ? at : width;
}
