/* Creates a configuration: converts numbers to ranks, and bounds to durations. */
#include "words.h"

#include <string.h>

/* keeps T_ring of 64 processes within 32 bits */
#define MAX_BOUND 1000000u
#define MAX_LEASE 1000000000u

static void set_duration(struct elect_config *c, enum elect_event timer, uint32_t ticks)
{
    c->duration[timer - ELECT_FIRST_TIMER] = ticks;
}

/*
 * A leader sends a heartbeat every T, and is suspected after three missing heartbeats in a row. On
 * a ring, the elected process may be the last to learn the outcome, up to T_ring after the first
 * process has learned it. The other processes must not suspect it before that.
 */
static void set_durations(struct elect_config *c, uint32_t t_m, uint32_t t_p)
{
    uint32_t n = c->n, t = 2 * t_m + t_p;
    uint32_t t_ring = 2 * n * (t_m + t_p) + (n - 1) * t;
    c->processing_bound = t_p;
    c->answer_bound = t;
    set_duration(c, ELECT_HOP_TIMER, t);
    set_duration(c, ELECT_ANSWER_TIMER, t);
    set_duration(c, ELECT_DEADLINE_TIMER, DEADLINE_IN_T * t);
    set_duration(c, ELECT_RING_TIMER, t_ring);
    set_duration(c, ELECT_HEARTBEAT_TIMER, t);
    set_duration(c, ELECT_SUSPICION_TIMER,
                 (c->algorithm == ELECT_BULLY ? 0 : t_ring) + 3 * t + t_m);
}

enum elect_error elect_config_init(struct elect_config *config, enum elect_algorithm algorithm,
                                   const uint16_t *ids, size_t n, uint32_t message_bound,
                                   uint32_t processing_bound)
{
    memset(config, 0, sizeof *config);
    if (n == 0)
        return ELECT_EMPTY;
    if (n > ELECT_MAX)
        return ELECT_TOO_MANY;
    if (algorithm >= ELECT_ALGORITHM_COUNT)
        return ELECT_UNKNOWN_ALGORITHM;
    if (message_bound == 0 || message_bound > MAX_BOUND || processing_bound > MAX_BOUND)
        return ELECT_TOO_LONG;
    config->algorithm = (uint8_t)algorithm;
    config->n = (uint8_t)n;
    config->members = config->voters = elect_everyone(config);
    config->stable = true;
    for (size_t i = 0; i < n; i++) {
        uint8_t rank = 0;
        for (size_t j = 0; j < n; j++) {
            if (i != j && ids[i] == ids[j])
                return ELECT_TWICE;
            rank = (uint8_t)(rank + (ids[j] < ids[i]));
        }
        config->id[rank] = ids[i];
        config->ring[i] = rank;
        config->place[rank] = (uint8_t)i;
    }
    set_durations(config, message_bound, processing_bound);
    return ELECT_FINE;
}

/*
 * The answers to a request must arrive before the end of the office that they confirm. A candidate
 * may need two rounds of questions, each of which begins with a write and then takes T.
 * (elect_config_mandate() checks two more limits: three renewals must fit into an office, so that
 * two may fail, and a leader must still remember a round when its answers arrive.)
 */
int64_t elect_shortest_office(const struct elect_config *config)
{
    return 2 * ((int64_t)config->answer_bound + config->processing_bound);
}

static int64_t office_length(uint32_t lease, uint32_t drift, uint32_t grain)
{
    const int64_t million = 1000000;
    return lease * (million - drift) / (million + drift) - grain;
}

/* The inverse of office_length(), rounded up. */
int64_t elect_shortest_lease(const struct elect_config *config, uint32_t drift, uint32_t grain)
{
    const int64_t million = 1000000, slow = million - drift, fast = million + drift;
    return ((elect_shortest_office(config) + grain) * fast + slow - 1) / slow;
}

int64_t elect_office_length(const struct elect_config *config, uint32_t lease)
{
    return office_length(lease, config->drift, config->grain);
}

void elect_config_priorities(struct elect_config *config, const uint8_t *priority)
{
    uint16_t id[ELECT_MAX];
    for (unsigned i = 0; i < config->n; i++)
        id[i] = config->id[config->ring[i]];
    for (unsigned i = 0; i < config->n; i++) {
        uint8_t rank = 0;
        for (unsigned j = 0; j < config->n; j++)
            rank = (uint8_t)(rank + (priority[j] < priority[i] ||
                                     (priority[j] == priority[i] && id[j] < id[i])));
        config->id[rank] = id[i];
        config->ring[i] = rank;
        config->place[rank] = (uint8_t)i;
    }
}

static uint32_t digest(uint32_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) /* FNV-1a */
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u;
    return hash;
}

/* Different digests mean different configurations. */
static uint32_t digest_of(const struct elect_config *c)
{
    uint64_t numbers[] = {c->algorithm, c->form,          c->announce, c->tell_lower,  c->n,
                          c->version,   c->lease,         c->renewal,  c->max_lease,   c->drift,
                          c->members,   c->voters,        c->preempt,  c->grain,       c->decay,
                          c->stable,    c->preempt_after, c->mandate,  c->answer_bound};
    uint32_t hash = digest(2166136261u, numbers, sizeof numbers);
    hash = digest(hash, c->id, c->n * sizeof c->id[0]);
    return digest(hash, c->ring, c->n);
}

/*
 * Returns three renewal intervals of the slowest clock, as measured by the fastest clock, rounded
 * up. With this suspicion time, no member is considered absent and no leader is suspected as long
 * as two of every three renewals arrive.
 */
static uint32_t suspicion_time(uint32_t renewal, uint32_t drift)
{
    const uint64_t million = 1000000;
    uint64_t slow = million - drift, fast = million + drift;
    return (uint32_t)((3 * renewal * fast + slow - 1) / slow);
}

enum elect_error elect_config_mandate(struct elect_config *config, uint32_t lease, uint32_t renewal,
                                      uint32_t drift, uint32_t grain)
{
    if (drift >= 500000)
        return ELECT_DRIFT_TOO_LARGE;
    if (grain == 0) /* reading a clock in whole units can shorten a lease by one unit */
        return ELECT_LEASE_TOO_SHORT;
    if (config->members == 0 || (config->members & ~config->voters) != 0 ||
        (config->voters & ~elect_everyone(config)) != 0)
        return ELECT_NO_SUCH_ROLE;
    int64_t office = office_length(lease, drift, grain);
    uint32_t longest = config->max_lease > 0 ? config->max_lease : MAX_LEASE;
    if (lease > longest || lease < elect_shortest_lease(config, drift, grain))
        return lease > longest ? ELECT_TOO_LONG : ELECT_LEASE_TOO_SHORT;
    if (renewal == 0 || 3 * (int64_t)renewal > office)
        return ELECT_RENEWAL_TOO_LONG;
    if (ELECT_ROUNDS * (int64_t)renewal < config->answer_bound)
        return ELECT_RENEWAL_TOO_SHORT;
    config->mandate = ELECT_MAJORITY;
    config->detector = true;
    config->lease = lease;
    config->renewal = renewal;
    config->drift = drift;
    config->grain = grain;
    if (config->max_lease == 0)
        config->max_lease = 2 * lease;
    if (config->decay == 0)
        config->decay = lease < UINT32_MAX / 10 ? 10 * lease : UINT32_MAX;
    set_duration(config, ELECT_SUSPICION_TIMER, suspicion_time(renewal, drift));
    config->digest = digest_of(config);
    return ELECT_FINE;
}

uint8_t elect_rank(const struct elect_config *config, uint32_t id)
{
    for (uint8_t rank = 0; rank < config->n; rank++)
        if (config->id[rank] == id)
            return rank;
    return ELECT_NOBODY;
}
