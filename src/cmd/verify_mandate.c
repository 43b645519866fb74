/* elect verify --mandate majority: defaults, description and report. */
#include "verify.h"

#include <string.h>

#define ALWAYS                                                                                     \
    (1u << PROPERTY_ONE_PER_TERM | 1u << PROPERTY_RISING_GRANTS | 1u << PROPERTY_RELEASED_LAST)
#define IN_BOUND (1u << PROPERTY_ONE_LEADER | 1u << PROPERTY_RISING_TOKENS)

/* The smallest settings that allow one clock to run twice as fast as another: per tick, a slow
 * clock advances by a quarter of the lease, a fast one by half. */
#define LEASE   "20"
#define RENEWAL "3"
#define DRIFT   "0.333333"
#define SLOW    5

static bool refuse(struct text *t, const char *option, const char *why)
{
    text_add(t, option);
    text_add(t, why);
    return false;
}

void verify_mandate_settings(struct setup *s)
{
    struct text ignored;
    text_clear(&ignored);
    setup_set(s, SETTING_LEASE, LEASE, &ignored);
    setup_set(s, SETTING_RENEWAL, RENEWAL, &ignored);
    setup_set(s, SETTING_DRIFT, DRIFT, &ignored);
}

bool verify_mandate_question(struct asked *a, struct text *complaint)
{
    struct question *q = &a->exploration.question;
    uint32_t *properties = &a->exploration.properties;
    uint32_t claimed = ALWAYS | (q->clocks == CLOCKS_ANY ? 0 : IN_BOUND);
    if (a->textbook != NULL)
        return refuse(
            complaint, a->textbook,
            " is only for elections without a mandate: with one, any process may win at any "
            "time, and messages arrive in any order, any number of times or never");
    if (q->config.algorithm != ELECT_BULLY)
        return refuse(
            complaint, "--algorithm",
            " has no effect with a mandate, because any process may win an election at any "
            "time: leave it out");
    if (q->config.n > 8)
        return refuse(complaint, "too many processes", ": use at most 8 with a mandate");
    if (q->max_term == 0)
        q->max_term = q->clocks == CLOCKS_ANY ? 2 : 1;
    if (!a->properties_given)
        *properties = claimed;
    if ((*properties & ~(ALWAYS | IN_BOUND)) != 0)
        return refuse(complaint, "--property",
                      ": with a mandate, expected one-per-term, rising-grants, released-last, "
                      "one-leader or rising-tokens");
    q->budget.crashes = (uint8_t)a->budget[0];
    q->leader = ELECT_NOBODY;
    if (q->clocks == CLOCKS_ANY && q->max_rounds > 1 && q->max_changes == 0)
        return refuse(complaint, "--rounds",
                      " needs --clocks bounded: with --clocks any a second "
                      "round has the same effects as the first");
    q->reorder = true;
    q->config.stable = false;
    q->begin = BEGIN_LISTED;
    q->slow = SLOW;
    q->fast = q->clocks == CLOCKS_BEYOND ? 4 * SLOW : 2 * SLOW;
    return true;
}

void verify_mandate_report(const struct question *q)
{
    const struct elect_config *c = &q->config;
    printf("terms up to %u, %u round%s of each; %u restart%s; any process may win an election,\n"
           "and any message may arrive, at any time, any number of times or never\n",
           q->max_term, q->max_rounds, q->max_rounds == 1 ? "" : "s", q->budget.crashes,
           q->budget.crashes == 1 ? "" : "s");
    if (q->clocks == CLOCKS_ANY)
        puts("clocks: any; a lease, an office or a guard may end at any moment");
    else
        printf("clocks: that of a leader advances by %u while that of a voter advances by %u\n"
               "D = %u, D_L = %u, rho = 1/3, epsilon = %u\n",
               q->slow, q->fast, c->lease, (unsigned)elect_office_length(c, c->lease), c->grain);
}

json_t *verify_mandate_json(const struct question *q)
{
    static const char *const clocks[] = {"any", "bounded", "beyond"};
    const struct elect_config *c = &q->config;
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "clocks", clocks[q->clocks],
                     "terms", q->max_term, "rounds", q->max_rounds, "restarts", q->budget.crashes,
                     "lease", c->lease, "office", (unsigned)elect_office_length(c, c->lease),
                     "epsilon", c->grain, "leader_ticks", q->slow, "voter_ticks", q->fast);
}
