/* Generates the output of `elect config example` from CONFIG_KEYS, so that no key is missing. */
#include "config_internal.h"

void config_example(struct text *t)
{
    static const struct {
        enum config_section section;
        const char *word, *value, *help;
    } all[] = {
#define X(section, name, word, value, text) {SECTION_##section, word, value, text},
        CONFIG_KEYS(X)
#undef X
    };
    static const char others[] = "\n[member b]\nid = 2\naddress = 10.0.0.2:7400\n"
                                 "\n[member c]\nid = 3\naddress = 10.0.0.3:7400\n"
                                 "\n# Each group has a leader of its own; at most 64 groups.\n"
                                 "[group main]\n";
    text_add(t, "# The same file on every member, in /etc/elect/elect.conf. Lines that begin with\n"
                "# \"#\" are comments; remove the \"#\" before a key to set it.\n");
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        bool needed = i == KEY_ID || i == KEY_MEMBER_ID || i == KEY_ADDRESS;
        if (i == 0 || all[i].section != all[i - 1].section)
            text_add(t, all[i].section == SECTION_CLUSTER  ? "\n[cluster]\n"
                        : all[i].section == SECTION_MEMBER ? "\n[member a]\n"
                                                           : others);
        text_add(t, "# ");
        text_add(t, all[i].help);
        text_add(t, needed ? "\n" : "\n#");
        text_add(t, all[i].word);
        text_add(t, " = ");
        text_add(t, i == KEY_ID          ? "00112233445566778899aabbccddeeff"
                    : i == KEY_MEMBER_ID ? "1"
                    : i == KEY_ADDRESS   ? "10.0.0.1:7400"
                                         : all[i].value);
        text_add(t, "\n");
    }
}
