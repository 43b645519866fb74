/* Prints the trace of an election as text or as lines of JSON. */
#include "sim.h"

#include "../base/access.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void trace_collect(struct trace *s, const char *text, size_t length)
{
    if (s->length + length + 1 > s->room) {
        size_t room = 2 * (s->length + length) + 4096;
        char *memory = realloc(s->text, room);
        if (memory == NULL) {
            args_complain("sim", "", "not enough memory for this trace");
            exit(EXIT_IO);
        }
        s->text = memory;
        s->room = room;
    }
    memcpy(s->text + s->length, text, length);
    s->length += length;
    s->text[s->length] = '\0';
}

static json_t *ids(const struct world *w, elect_set set)
{
    json_t *array = json_array();
    for (; set != 0; set &= set - 1)
        json_array_append_new(array, json_integer(w->config.id[__builtin_ctzll(set)]));
    return array;
}

static json_t *id(const struct world *w, uint8_t rank)
{
    return rank < w->config.n ? json_integer(w->config.id[rank]) : json_null();
}

static json_t *message(const struct world *w, const struct elect_message *m)
{
    struct text t;
    text_clear(&t);
    narrate_message(w, m, &t);
    return json_string(t.bytes);
}

static void add_step(json_t *line, const struct world *w, const struct happening *h)
{
    const struct elect_rule *rule = &h->output.rule;
    struct text t;
    text_clear(&t);
    narrate_rule(w, h, &t);
    json_object_set_new(line, "process", id(w, h->rank));
    json_object_set_new(line, "event",
                        json_string(elect_event_name((enum elect_event)h->input.event)));
    if (h->input.from != ELECT_NOBODY) {
        json_object_set_new(line, "from", id(w, h->input.from));
        json_object_set_new(line, "message", message(w, &h->input.message));
    }
    json_object_set_new(line, "rule",
                        json_string(elect_rule_name((enum elect_rule_number)rule->number)));
    json_object_set_new(line, "text", json_string(t.bytes));
    json_object_set_new(line, "leader", id(w, w->node[h->rank].leader));
    json_t *sends = json_array();
    for (unsigned i = 0; i < h->output.sends; i++)
        json_array_append_new(sends, json_pack("{s:o, s:o}", "to", ids(w, h->output.send[i].to),
                                               "message", message(w, &h->output.send[i].message)));
    json_object_set_new(line, "sends", sends);
}

static void add_fault(json_t *line, const struct world *w, const struct fault *f)
{
    bool of_all =
        f->parts > 0 || f->kind == FAULT_HEAL || f->kind == FAULT_CALM || f->kind == FAULT_LEASE;
    json_object_set_new(line, "fault", json_string(world_fault_name((enum fault_kind)f->kind)));
    if (!of_all)
        json_object_set_new(line, "process", id(w, f->rank));
    if (f->amount != 0)
        json_object_set_new(line, "amount", json_integer((json_int_t)f->amount));
    if (f->parts > 0) {
        json_t *parts = json_array();
        for (unsigned i = 0; i < f->parts; i++)
            json_array_append_new(parts, ids(w, f->part[i]));
        json_object_set_new(line, "parts", parts);
    }
}

static void tell_json(struct trace *s, const struct world *w, const struct happening *h)
{
    static const char *const fates[] = {[FATE_LOST_ON_THE_WAY] = "on the way",
                                        [FATE_LOST_IN_CUT] = "cut",
                                        [FATE_LOST_AT_THE_DEAD] = "receiver down",
                                        [FATE_LOST_BY_HAND] = "by hand",
                                        [FATE_GARBLED] = "garbled"};
    json_t *line = json_pack("{s:I}", "time", (json_int_t)w->now);
    if (h->what == HAPPENED_FAULT)
        add_fault(line, w, &h->fault);
    if (h->what == HAPPENED_STEP || (h->what == HAPPENED_FAULT && world_fault_steps(&h->fault)))
        add_step(line, w, h);
    if (h->what == HAPPENED_LOSS) {
        json_object_set_new(line, "lost", message(w, &h->input.message));
        json_object_set_new(line, "from", id(w, h->input.from));
        json_object_set_new(line, "to", id(w, h->rank));
        json_object_set_new(line, "reason", json_string(fates[h->fate]));
    }
    json_dumpf(line, s->out, JSON_COMPACT);
    fputc('\n', s->out);
    json_decref(line);
}

void trace_happening(void *trace, const struct world *w, const struct happening *h)
{
    struct trace *s = trace;
    struct text t;
    if (s->collects || (s->out != NULL && s->mode == TRACE_TEXT)) {
        text_clear(&t);
        narrate_happening(w, h, false, &t);
        if (s->collects)
            trace_collect(s, t.bytes, t.length);
        if (s->verbose) {
            text_clear(&t);
            narrate_happening(w, h, true, &t);
        }
        if (s->out != NULL && s->mode == TRACE_TEXT)
            fwrite(t.bytes, 1, t.length, s->out);
    }
    if (s->out != NULL && s->mode == TRACE_JSON)
        tell_json(s, w, h);
}

static void add_violations(const struct play *p, struct text *t)
{
    for (unsigned i = 0; i < p->violations; i++) {
        text_add(t, "violated ");
        text_add(t, property_name(p->violation[i].property));
        text_add(t, " at ");
        text_add_number(t, p->violation[i].time);
        text_add(t, ": ");
        text_add(t, p->violation[i].text);
        text_add(t, "\n");
    }
}

void trace_outcome(const struct play *p, struct text *t)
{
    narrate_outcome(&p->world, t);
    add_violations(p, t);
}

FILE *trace_open(const struct request *r)
{
    if (r->trace_file == NULL)
        return r->trace == TRACE_JSON ? stderr : stdout;
    FILE *out = fopen(r->trace_file, "w");
    if (out == NULL)
        args_complain("sim", r->trace_file, access_text(errno, r->trace_file, ACCESS_MAKE));
    return out;
}

int trace_close(const struct request *r, FILE *out, int status)
{
    if (r->trace_file == NULL) {
        if (out == stdout || (fflush(out) == 0 && !ferror(out)))
            return status;
        return EXIT_IO;
    }
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return status;
    args_complain("sim", r->trace_file, "the trace could not be written");
    return EXIT_IO;
}
