/* Prints the outcome of one or many elections, as text or JSON. */
#include "sim.h"

#include <jansson.h>
#include <string.h>

void outcome_of_play(struct outcome *o, const struct play *p)
{
    const struct world *w = &p->world;
    uint8_t leader = world_leader(w);
    *o = (struct outcome){
        .config = w->config,
        .world = w,
        .agreed = leader != ELECT_NOBODY,
        .leader = leader != ELECT_NOBODY ? w->config.id[leader] : 0,
        .time = w->changed,
        .total = world_total(w),
        .delivered = w->books.delivered,
        .failed_hops = w->books.failed_hops,
        .acks = w->books.acks,
        .heartbeats = w->books.heartbeats,
        .violations = p->violations,
        .violation = p->violation,
    };
    memcpy(o->sent, w->books.sent, sizeof o->sent);
}

int outcome_exit(const struct outcome *o)
{
    return o->violations > 0 ? EXIT_NO : o->agreed ? EXIT_FINE : EXIT_UNDECIDED;
}

static bool is_sent(const struct elect_config *c, unsigned type)
{
    return elect_sends(c, (enum elect_event)type);
}

static void print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(object);
}

static json_t *integer(uint64_t value) { return json_integer((json_int_t)value); }

/* ---- one election ---- */

static json_t *follows(const struct world *w)
{
    json_t *object = json_object();
    for (elect_set rest = w->up; rest != 0; rest &= rest - 1) {
        uint8_t rank = (uint8_t)__builtin_ctzll(rest), leader = w->node[rank].leader;
        struct text key;
        text_clear(&key);
        text_add_number(&key, w->config.id[rank]);
        json_object_set_new(object, key.bytes,
                            leader == ELECT_NOBODY ? json_null() : integer(w->config.id[leader]));
    }
    return object;
}

static json_t *violations(const struct outcome *o)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < o->violations; i++)
        json_array_append_new(array, json_pack("{s:s, s:I, s:s}", "property",
                                               property_name(o->violation[i].property), "time",
                                               (json_int_t)o->violation[i].time, "text",
                                               o->violation[i].text));
    return array;
}

static void report_json(const struct outcome *o, const char *expectation)
{
    json_t *object = json_object(), *sent = json_object();
    json_object_set_new(
        object, "algorithm",
        json_string(elect_algorithm_name((enum elect_algorithm)o->config.algorithm)));
    if (expectation != NULL)
        json_object_set_new(object, "expectation", json_string(expectation));
    json_object_set_new(object, "agreed", json_boolean(o->agreed));
    json_object_set_new(object, "leader", o->agreed ? integer(o->leader) : json_null());
    if (o->world != NULL)
        json_object_set_new(object, "follows", follows(o->world));
    json_object_set_new(object, "time", integer(o->time));
    json_object_set_new(sent, "total", integer(o->total));
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++)
        if (is_sent(&o->config, type))
            json_object_set_new(sent, elect_event_name((enum elect_event)type),
                                integer(o->sent[type]));
    json_object_set_new(object, "sent", sent);
    json_object_set_new(object, "delivered", integer(o->delivered));
    json_object_set_new(object, "failed_hops", integer(o->failed_hops));
    json_object_set_new(object, "acks", integer(o->acks));
    json_object_set_new(object, "heartbeats", integer(o->heartbeats));
    json_object_set_new(object, "violations", violations(o));
    print_json(object);
}

/* Prints the outcome of an election in the lab. trace_outcome does this for a world. */
static void report_text(const struct outcome *o)
{
    const char *gap = ": ";
    if (o->agreed)
        printf("leader %u   agreed by all\n", o->leader);
    else
        puts("no agreement");
    printf("sent %llu", (unsigned long long)o->total);
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++) {
        if (!is_sent(&o->config, type))
            continue;
        printf("%s%s %llu", gap, elect_event_name((enum elect_event)type),
               (unsigned long long)o->sent[type]);
        gap = ", ";
    }
    printf("   delivered %llu", (unsigned long long)o->delivered);
    if (o->config.algorithm != ELECT_BULLY)
        printf("   failed hops %llu", (unsigned long long)o->failed_hops);
    printf("   time %llu\n", (unsigned long long)o->time);
}

void report_outcome(const struct outcome *o, const char *expectation, bool json)
{
    if (json)
        report_json(o, expectation);
    else
        report_text(o);
}

/* ---- many elections ---- */

void statistics_add(struct statistics *s, const struct outcome *o, uint64_t seed)
{
    s->config = o->config;
    s->runs++;
    s->agreed += o->agreed;
    s->violations += o->violations;
    if (o->agreed)
        tally_add(&s->leader, o->leader);
    tally_add(&s->time, o->time);
    tally_add(&s->total, o->total);
    for (unsigned type = 0; type < ELECT_EVENT_COUNT; type++)
        tally_add(&s->sent[type], o->sent[type]);
    tally_add(&s->delivered, o->delivered);
    tally_add(&s->failed_hops, o->failed_hops);
    tally_add(&s->acks, o->acks);
    tally_add(&s->heartbeats, o->heartbeats);
    if (outcome_exit(o) != EXIT_FINE && s->failed < REPORT_MAX_SEEDS)
        s->failed_seed[s->failed++] = seed;
}

static double mean(const struct tally *t) { return (double)t->sum / (double)t->count; }

static json_t *spread(const struct tally *t)
{
    if (t->count == 0)
        return json_null();
    return json_pack("{s:f, s:I, s:I}", "mean", mean(t), "min", (json_int_t)t->min, "max",
                     (json_int_t)t->max);
}

static void statistics_json(const struct statistics *s)
{
    json_t *object = json_object(), *sent = json_object(), *seeds = json_array();
    json_object_set_new(
        object, "algorithm",
        json_string(elect_algorithm_name((enum elect_algorithm)s->config.algorithm)));
    json_object_set_new(object, "runs", integer(s->runs));
    json_object_set_new(object, "seed", integer(s->seed));
    json_object_set_new(object, "agreed", integer(s->agreed));
    json_object_set_new(object, "leader", spread(&s->leader));
    json_object_set_new(object, "time", spread(&s->time));
    json_object_set_new(sent, "total", spread(&s->total));
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++)
        if (is_sent(&s->config, type))
            json_object_set_new(sent, elect_event_name((enum elect_event)type),
                                spread(&s->sent[type]));
    json_object_set_new(object, "sent", sent);
    json_object_set_new(object, "delivered", spread(&s->delivered));
    json_object_set_new(object, "failed_hops", spread(&s->failed_hops));
    json_object_set_new(object, "acks", spread(&s->acks));
    json_object_set_new(object, "heartbeats", spread(&s->heartbeats));
    json_object_set_new(object, "violations", integer(s->violations));
    for (unsigned i = 0; i < s->failed; i++)
        json_array_append_new(seeds, integer(s->failed_seed[i]));
    json_object_set_new(object, "failed_seeds", seeds);
    print_json(object);
}

static void print_row(const char *name, const struct tally *t)
{
    printf("%-14s %14.2f %10llu %10llu\n", name, mean(t), (unsigned long long)t->min,
           (unsigned long long)t->max);
}

static void statistics_text(const struct statistics *s, const char *command)
{
    bool ring = s->config.algorithm != ELECT_BULLY;
    printf("%s, %llu processes, %llu runs, seeds %llu..%llu\n",
           elect_algorithm_name((enum elect_algorithm)s->config.algorithm),
           (unsigned long long)s->processes, (unsigned long long)s->runs,
           (unsigned long long)s->seed, (unsigned long long)(s->seed + s->runs - 1));
    printf("agreed %llu   violations %llu\n\n", (unsigned long long)s->agreed,
           (unsigned long long)s->violations);
    printf("%-14s %14s %10s %10s\n", "", "mean", "min", "max");
    print_row("time", &s->time);
    print_row("sent", &s->total);
    for (unsigned type = ELECT_FIRST_MESSAGE; type < ELECT_FIRST_TIMER; type++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", elect_event_name((enum elect_event)type));
        if (is_sent(&s->config, type))
            print_row(name, &s->sent[type]);
    }
    print_row("delivered", &s->delivered);
    if (ring) {
        print_row("failed hops", &s->failed_hops);
        print_row("acks", &s->acks);
    }
    if (s->heartbeats.max > 0)
        print_row("heartbeats", &s->heartbeats);
    if (s->failed > 0) {
        printf("\nno agreement, or a violation: seed");
        for (unsigned i = 0; i < s->failed; i++)
            printf(" %llu", (unsigned long long)s->failed_seed[i]);
        printf("%s\nreplay: %s --seed %llu\n", s->failed == REPORT_MAX_SEEDS ? " ..." : "", command,
               (unsigned long long)s->failed_seed[0]);
    }
}

void report_statistics(const struct statistics *s, const char *command, bool json)
{
    if (json)
        statistics_json(s);
    else
        statistics_text(s, command);
}
