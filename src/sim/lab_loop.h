/* Delivers messages and fires timers in order of time. Include this after an algorithm file. */

static void lab_deliver(struct lab *lab, const struct lab_message *m)
{
    const struct event e = {
        .type = ELECT_FIRST_MESSAGE + m->type, .from = m->from, .origin = m->value};
    uint32_t end = lab->bully ? m->value : m->to + 1;
    for (uint32_t to = m->to; to < end; to++) {
        struct process p = {.lab = lab, .node = &lab->node[to]};
        if (p.node->state == LAB_DOWN || (lab->bully && to == m->from))
            continue;
        lab->delivered++;
        upon(&p, &e);
    }
}

/* Fires the timers that are due, in the order they were started. Of two that are due at the same
 * time, the longer one was started earlier and has the larger index, so the loop runs backwards. */
static void lab_alarms(struct lab *lab)
{
    for (unsigned t = LAB_TIMERS; t-- > 0;) {
        struct lab_alarms *a = &lab->alarms[t];
        for (; a->head < a->count && a->alarm[a->head].due <= lab->now; a->head++) {
            const struct lab_alarm alarm = a->alarm[a->head];
            struct process p = {.lab = lab, .node = &lab->node[alarm.number]};
            if (lab->timers[alarm.number][t] != alarm.due)
                continue;
            lab->timers[alarm.number][t] = 0;
            upon(&p, &(struct event){.type = ELECT_ANSWER_TIMER + t, .from = alarm.number});
        }
    }
}

static uint64_t lab_next(const struct lab *lab)
{
    uint64_t next = UINT64_MAX;
    for (unsigned t = 0; t < LAB_TIMERS; t++) {
        const struct lab_alarms *a = &lab->alarms[t];
        if (a->head < a->count && a->alarm[a->head].due < next)
            next = a->alarm[a->head].due;
    }
    return lab->flights > 0 ? lab->now + 1 : next;
}

static void lab_loop(struct lab *lab, const uint32_t *begins, uint32_t count,
                     lab_progress *progress)
{
    for (uint32_t i = 0; i < count; i++) {
        struct process p = {.lab = lab, .node = &lab->node[begins[i]]};
        if (!leads(&p))
            begin(&p, NO_LEADER);
    }
    for (unsigned tick = 1; (lab->now = lab_next(lab)) != UINT64_MAX; tick++) {
        lab->slot = lab->slot + 1 < lab->buckets ? lab->slot + 1 : 0;
        struct lab_bucket *b = &lab->bucket[lab->slot];
        for (uint32_t i = 0; i < b->count; i++)
            lab_deliver(lab, &b->message[i]);
        lab->flights -= b->count;
        b->count = 0;
        lab_alarms(lab);
        if (progress != NULL && tick % 256 == 0)
            progress(lab->delivered);
    }
}
