/* See script.h. The records do not show how the first recorded leader was elected, so the script
 * begins with steps of its own that elect it. */
#include "script.h"

#include "../base/json.h"
#include "../base/output.h"
#include "../model/scenario_write.h"
#include "faults.h"

#include <stdlib.h>
#include <string.h>

struct script {
    const struct history *h;
    const struct history_faults *f;
    struct scenario_writer writer;
    uint16_t id[HISTORY_MEMBERS];
    uint8_t priority[HISTORY_MEMBERS];
    elect_set all, witnesses, observers;
};

static uint64_t ticks(int64_t microseconds)
{
    return microseconds > 0 ? (uint64_t)(microseconds / HISTORY_MILLISECOND) : 0;
}

static void begin(struct script *s)
{
    for (unsigned i = 0; i < s->h->members; i++) {
        const json_t *member = history_member_json(s->h, i);
        elect_set bit = (elect_set)1 << i;
        s->id[i] = history_id(s->h, i);
        s->priority[i] = (uint8_t)field_integer(member, "priority");
        s->all |= bit;
        s->witnesses |= strcmp(field_text(member, "role"), "witness") == 0 ? bit : 0;
        s->observers |= strcmp(field_text(member, "role"), "observer") == 0 ? bit : 0;
    }
}

/* ---- settings ---- */

static void write_head(const struct script *s)
{
    const struct history *h = s->h;
    struct text t;
    text_clear(&t);
    text_add(&t, "The history of group ");
    text_add(&t, h->group);
    text_add(&t, " as its members recorded it. A tick is a millisecond.");
    scenario_write_comment(&s->writer, t.bytes);
    for (unsigned i = 0; i < h->members; i++) {
        text_clear(&t);
        text_add_number(&t, s->id[i]);
        text_add(&t, " is ");
        text_add(&t, h->name[i]);
        if (!h->complete[i])
            text_add(&t,
                     h->in_part[i] ? ", which did not answer in full" : ", which did not answer");
        scenario_write_comment(&s->writer, t.bytes);
    }
}

static void write_preempt(const struct scenario_writer *w, const json_t *settings)
{
    double after = field_number(settings, "preempt_ms");
    char text[32];
    snprintf(text, sizeof text, "%.0f", after);
    if (json_is_number(json_object_get(settings, "preempt_ms")))
        scenario_write_setting(w, SETTING_PREEMPT, after > 0 ? text : "yes");
}

/* Writes the simulator's settings. In the replay, each message takes one tick; the rest of the
 * configured delay bound becomes the processing bound. */
static void write_settings(const struct script *s)
{
    const json_t *settings = json_object_get(s->h->status, "settings");
    const struct scenario_writer *w = &s->writer;
    int64_t bound = 3 * s->f->delay / HISTORY_MILLISECOND - 2;
    char drift[32];
    snprintf(drift, sizeof drift, "%g", json_real_value(json_object_get(settings, "rho")));
    scenario_write_setting(w, SETTING_ALGORITHM, field_text(settings, "algorithm"));
    if (field_is_true(settings, "tell_lower"))
        scenario_write_setting(w, SETTING_TELL_LOWER, "on");
    scenario_write_set(w, SETTING_PROCESSES, s->all);
    scenario_write_set(w, SETTING_WITNESSES, s->witnesses);
    scenario_write_set(w, SETTING_OBSERVERS, s->observers);
    scenario_write_priorities(w, s->priority, s->h->members);
    scenario_write_number(w, SETTING_PROCESSING, bound > 0 ? (uint64_t)bound : 0);
    scenario_write_setting(w, SETTING_MANDATE, "majority");
    scenario_write_number(w, SETTING_LEASE, ticks(s->f->lease));
    scenario_write_number(w, SETTING_RENEWAL, ticks(s->f->renewal));
    scenario_write_setting(w, SETTING_DRIFT, drift);
    write_preempt(w, settings);
}

/* ---- steps ---- */

static void write_fault(const struct script *s, enum fault_kind kind, unsigned member)
{
    scenario_write_fault(&s->writer,
                         &(struct fault){.kind = (uint8_t)kind, .rank = (uint8_t)member});
}

static bool is_fitter(const struct script *s, unsigned a, unsigned than)
{
    int more = s->priority[a] - s->priority[than];
    bool can_lead = ((s->witnesses | s->observers) >> a & 1) == 0;
    return can_lead && (more > 0 || (more == 0 && s->id[a] > s->id[than]));
}

/* Elects the first leader while all members preferred to it are down. They start at time `calm`. */
static void write_alone(const struct script *s, elect_set fitter, uint64_t calm)
{
    scenario_write_set(&s->writer, SETTING_DOWN, fitter);
    write_fault(s, FAULT_WIN, s->f->first);
    for (elect_set rest = fitter; rest != 0; rest &= rest - 1)
        scenario_write_fault_at(&s->writer, &(struct fault){.kind = FAULT_RECOVER,
                                                            .rank = (uint8_t)__builtin_ctzll(rest),
                                                            .time = calm});
}

/* Elects the most preferred member, which hands over to the first leader at time `calm`. */
static void write_handover(const struct script *s, unsigned best, uint64_t calm)
{
    write_fault(s, FAULT_WIN, best);
    scenario_write_fault_at(&s->writer, &(struct fault){.kind = FAULT_TRANSFER,
                                                        .rank = (uint8_t)best,
                                                        .amount = s->id[s->f->first],
                                                        .time = calm});
}

/* Elects the first leader, even if other members are preferred to it. If the rest are a
 * majority, the preferred members start later. Otherwise, the most preferred one wins and hands
 * over. Its penalty for this takes more than forty leases to decay, and the script must wait for
 * that. Returns the time when the rest of the script can begin. */
static uint64_t write_first(const struct script *s)
{
    unsigned best = s->f->first;
    elect_set fitter = 0;
    int voters = __builtin_popcountll(s->all & ~s->observers);
    uint64_t lease = ticks(s->f->lease), calm = 2 * lease;
    for (unsigned i = 0; i < s->h->members; i++) {
        fitter |= (elect_set)is_fitter(s, i, s->f->first) << i;
        best = is_fitter(s, i, best) ? i : best;
    }
    if (2 * (voters - __builtin_popcountll(fitter)) > voters) {
        write_alone(s, fitter, calm);
    } else {
        write_handover(s, best, calm);
        calm = 45 * lease;
    }
    scenario_write_run_until(&s->writer, calm);
    return calm + 2 * lease;
}

static void write_script(const struct script *s)
{
    static const enum property promised[] = {PROPERTY_ONE_LEADER, PROPERTY_ONE_PER_TERM,
                                             PROPERTY_RISING_TOKENS};
    int64_t longest = 0;
    write_head(s);
    write_settings(s);
    uint64_t lead = write_first(s), last = lead;
    for (const struct history_fault *f = s->f->fault; f < s->f->fault + s->f->count; f++) {
        struct fault fault = f->fault;
        fault.time = last = lead + ticks(f->at - s->f->began);
        scenario_write_fault_at(&s->writer, &fault);
        longest = longest > f->lasts ? longest : f->lasts;
    }
    scenario_write_run_until(&s->writer, last + ticks(longest) + ticks(10 * s->f->lease));
    for (unsigned i = 0; i < sizeof promised / sizeof promised[0]; i++)
        scenario_write_check(&s->writer, promised[i]);
}

char *history_script(const struct history *h)
{
    struct history_faults *f = calloc(1, sizeof *f);
    struct script s = {.h = h, .f = f};
    char *text = NULL;
    size_t size;
    FILE *out = f != NULL && history_find_faults(h, f) ? open_memstream(&text, &size) : NULL;
    if (out != NULL) {
        begin(&s);
        s.writer = (struct scenario_writer){s.id, ',', output_line, out};
        write_script(&s);
        fclose(out);
    }
    free(f);
    return text;
}
