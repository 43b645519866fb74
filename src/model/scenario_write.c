/* See scenario_write.h. The lines that these functions write are read by scenario.c and setup.c. */
#include "scenario_write.h"

#include "narrate.h"

static const char *const verbs[] = {
#define X(name, word) word,
    SCENARIO_VERBS(X)
#undef X
};

/* ---- lines ---- */

static void begin(struct text *line, const char *word)
{
    text_clear(line);
    text_add(line, word);
}

static void add_word(struct text *line, const char *word)
{
    text_add(line, " ");
    text_add(line, word);
}

static void add_number(struct text *line, uint64_t value)
{
    text_add(line, " ");
    text_add_number(line, value);
}

static void add_amount(struct text *line, int64_t amount)
{
    text_add(line, amount < 0 ? " -" : " ");
    text_add_number(line, amount < 0 ? (uint64_t)0 - (uint64_t)amount : (uint64_t)amount);
}

static void add_group(const struct scenario_writer *w, struct text *line, elect_set set)
{
    for (; set != 0; set &= set - 1)
        add_number(line, w->id[__builtin_ctzll(set)]);
}

/* Writes ID..ID, because a single number would be read as a count of processes. */
static void add_range_of_one(const struct scenario_writer *w, struct text *line, unsigned rank)
{
    text_add(line, "..");
    text_add_number(line, w->id[rank]);
}

static void add_listed(const struct scenario_writer *w, struct text *line, bool first,
                       unsigned rank)
{
    text_add_bytes(line, first ? " " : &w->separator, 1);
    text_add_number(line, w->id[rank]);
}

static void end(const struct scenario_writer *w, struct text *line)
{
    text_add(line, "\n");
    w->put(w->out, line->bytes);
}

void scenario_write_comment(const struct scenario_writer *w, const char *text)
{
    struct text line;
    begin(&line, "#");
    add_word(&line, text);
    end(w, &line);
}

/* ---- settings ---- */

void scenario_write_setting(const struct scenario_writer *w, enum setting setting,
                            const char *value)
{
    struct text line;
    begin(&line, setup_key(setting));
    add_word(&line, value);
    end(w, &line);
}

void scenario_write_number(const struct scenario_writer *w, enum setting setting, uint64_t value)
{
    struct text line;
    begin(&line, setup_key(setting));
    add_number(&line, value);
    end(w, &line);
}

void scenario_write_drift(const struct scenario_writer *w, uint32_t millionths)
{
    struct text line;
    begin(&line, setup_key(SETTING_DRIFT));
    text_add(&line, " 0.");
    for (uint32_t place = 100000; place > 0; place /= 10)
        text_add_number(&line, millionths / place % 10);
    end(w, &line);
}

void scenario_write_ring(const struct scenario_writer *w, const struct elect_config *c)
{
    struct text line;
    begin(&line, setup_key(SETTING_PROCESSES));
    for (unsigned place = 0; place < c->n; place++)
        add_listed(w, &line, place == 0, c->ring[place]);
    if (c->n == 1)
        add_range_of_one(w, &line, 0);
    end(w, &line);
}

void scenario_write_set(const struct scenario_writer *w, enum setting setting, elect_set set)
{
    struct text line;
    if (set == 0)
        return;
    begin(&line, setup_key(setting));
    for (elect_set rest = set; rest != 0; rest &= rest - 1)
        add_listed(w, &line, rest == set, (unsigned)__builtin_ctzll(rest));
    if (setting == SETTING_PROCESSES && (set & (set - 1)) == 0)
        add_range_of_one(w, &line, (unsigned)__builtin_ctzll(set));
    end(w, &line);
}

void scenario_write_priorities(const struct scenario_writer *w, const uint8_t *priority,
                               unsigned count)
{
    struct text line;
    bool first = true;
    begin(&line, setup_key(SETTING_PRIORITY));
    for (unsigned rank = 0; rank < count; rank++) {
        if (priority[rank] == 0)
            continue;
        text_add(&line, first ? " " : ",");
        text_add_number(&line, w->id[rank]);
        text_add(&line, ":");
        text_add_number(&line, priority[rank]);
        first = false;
    }
    if (!first)
        end(w, &line);
}

/* ---- steps ---- */

static void add_fault(const struct scenario_writer *w, struct text *line, const struct fault *f)
{
    begin(line, world_fault_name((enum fault_kind)f->kind));
    switch (setup_fault_form((enum fault_kind)f->kind)) {
    case SETUP_NOTHING: break;
    case SETUP_LEASE: add_amount(line, f->amount); break;
    case SETUP_PARTS:
        for (unsigned i = 0; i < f->parts; i++) {
            text_add(line, i > 0 ? " /" : "");
            add_group(w, line, f->part[i]);
        }
        break;
    case SETUP_PROCESS: add_number(line, w->id[f->rank]); break;
    case SETUP_AMOUNT:
    case SETUP_COUNTER:
    case SETUP_TRANSFER:
        add_number(line, w->id[f->rank]);
        add_amount(line, f->amount);
        break;
    case SETUP_TIME:
        add_number(line, w->id[f->rank]);
        add_word(line, narrate_time((enum elect_time_name)f->amount));
        break;
    }
}

void scenario_write_fault(const struct scenario_writer *w, const struct fault *f)
{
    struct text line;
    add_fault(w, &line, f);
    end(w, &line);
}

void scenario_write_fault_at(const struct scenario_writer *w, const struct fault *f)
{
    struct text line;
    add_fault(w, &line, f);
    add_word(&line, "at");
    add_number(&line, f->time);
    end(w, &line);
}

void scenario_write_verb(const struct scenario_writer *w, enum scenario_verb verb, unsigned rank)
{
    struct text line;
    begin(&line, verbs[verb]);
    add_number(&line, w->id[rank]);
    end(w, &line);
}

void scenario_write_message(const struct scenario_writer *w, enum scenario_verb verb, unsigned from,
                            unsigned to, const char *message)
{
    struct text line;
    begin(&line, verbs[verb]);
    add_number(&line, w->id[from]);
    add_word(&line, ">");
    add_number(&line, w->id[to]);
    add_word(&line, message);
    end(w, &line);
}

void scenario_write_fire(const struct scenario_writer *w, unsigned rank, enum elect_event timer)
{
    struct text line;
    begin(&line, verbs[VERB_FIRE]);
    add_number(&line, w->id[rank]);
    add_word(&line, elect_event_name(timer));
    end(w, &line);
}

void scenario_write_refuse(const struct scenario_writer *w, unsigned rank,
                           enum scenario_refusal refusal, uint64_t counter)
{
    static const char *const names[] = {SCENARIO_REFUSALS};
    struct text line;
    begin(&line, verbs[VERB_REFUSE]);
    add_number(&line, w->id[rank]);
    add_word(&line, names[refusal]);
    add_number(&line, counter);
    end(w, &line);
}

void scenario_write_run_until(const struct scenario_writer *w, uint64_t time)
{
    struct text line;
    begin(&line, verbs[VERB_RUN]);
    add_word(&line, "until");
    add_number(&line, time);
    end(w, &line);
}

void scenario_write_wait(const struct scenario_writer *w, uint64_t time)
{
    struct text line;
    begin(&line, verbs[VERB_WAIT]);
    add_number(&line, time);
    end(w, &line);
}

void scenario_write_mark(const struct scenario_writer *w)
{
    struct text line;
    begin(&line, verbs[VERB_MARK]);
    end(w, &line);
}

void scenario_write_check(const struct scenario_writer *w, enum property property)
{
    struct text line;
    begin(&line, verbs[VERB_CHECK]);
    add_word(&line, property_name(property));
    end(w, &line);
}
