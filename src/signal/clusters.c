#include "signal/clusters.h"

#include "base/integers.h"
#include "base/memory.h"

struct cluster {
    struct lw_peak strongest;   /* its cluster_size counts the crossings of the whole cluster */
    int64_t last;               /* output of the last crossing */
};

/* Clusters that met are one: `joined` leads from each to the one that goes on, which leads to itself. */
struct lw_clusters {
    int64_t outputs, channels;          /* reach on each side */
    int64_t n_channels, n, most;        /* number of clusters, and room for them */
    struct cluster *list;               /* [most] */
    int64_t *joined;                    /* [most] */
    int64_t *last, *its;                /* [n_channels] the last crossing's output, and its cluster; -1: there is none */
};

int64_t lw_clusters_most(int64_t n_channels) { return 2 * n_channels; }

int64_t lw_clusters_bytes(int64_t n_channels)
{
    return (int64_t)sizeof(struct lw_clusters) + 2 * n_channels * (int64_t)sizeof(int64_t) +
           lw_clusters_most(n_channels) * (int64_t)(sizeof(struct cluster) + sizeof(int64_t));
}

int lw_clusters_create(const struct lw_search *search, int64_t n_channels, struct lw_clusters **out, struct lw_error *err)
{
    struct lw_clusters *const clusters = *out = lw_alloc(sizeof *clusters, "clusters", err);
    if (!clusters)
        return LW_ESYSTEM;
    *clusters = (struct lw_clusters){.outputs = search->cluster, .channels = lw_min64(search->cluster_channels, n_channels),
                                     .n_channels = n_channels, .most = lw_clusters_most(n_channels)};
    if (!(clusters->list = lw_alloc_array(clusters->most, sizeof *clusters->list, "clusters", err)) ||
        !(clusters->joined = lw_alloc_array(clusters->most, sizeof *clusters->joined, "clusters", err)) ||
        !(clusters->last = lw_alloc_array(n_channels, sizeof *clusters->last, "clusters", err)) ||
        !(clusters->its = lw_alloc_array(n_channels, sizeof *clusters->its, "clusters", err)))
        return LW_ESYSTEM;
    for (int64_t c = 0; c < n_channels; c++)
        clusters->its[c] = -1;
    return LW_OK;
}

void lw_clusters_destroy(struct lw_clusters *clusters)
{
    if (!clusters)
        return;
    lw_free(clusters->list);
    lw_free(clusters->joined);
    lw_free(clusters->last);
    lw_free(clusters->its);
    lw_free(clusters);
}

bool lw_clusters_are_full(const struct lw_clusters *clusters) { return clusters->n == clusters->most; }

/* Return the cluster that goes on with cluster i. Paths are halved on the way. */
static int64_t find(struct lw_clusters *clusters, int64_t i)
{
    int64_t *const joined = clusters->joined;
    while (joined[i] != i)
        i = joined[i] = joined[joined[i]];
    return i;
}

static bool is_stronger(const struct lw_peak *a, const struct lw_peak *b)
{
    if (a->snr != b->snr)
        return a->snr > b->snr;
    if (a->filter != b->filter)
        return a->filter < b->filter;
    return a->channel != b->channel ? a->channel < b->channel : a->index < b->index;
}

/* Add the crossings of cluster `from` to cluster `to`. */
static void take(struct cluster *to, const struct cluster *from)
{
    const int64_t size = to->strongest.cluster_size + from->strongest.cluster_size;
    if (is_stronger(&from->strongest, &to->strongest))
        to->strongest = from->strongest;
    to->strongest.cluster_size = size;
    to->last = lw_max64(to->last, from->last);
}

/* Join clusters a and b; the lower number goes on. @return  this number */
static int64_t join(struct lw_clusters *clusters, int64_t a, int64_t b)
{
    const int64_t to = lw_min64(a, b), from = lw_max64(a, b);
    if (from != to) {
        take(&clusters->list[to], &clusters->list[from]);
        clusters->joined[from] = to;
    }
    return to;
}

void lw_clusters_add(struct lw_clusters *clusters, const struct lw_crossing *c, double snr)
{
    int64_t own = clusters->n++;
    clusters->joined[own] = own;
    clusters->list[own] = (struct cluster){{c->index, c->channel, c->filter, 0, c->re, c->im, snr, 1 + c->column}, c->index};
    const int64_t end = lw_min64(clusters->n_channels, c->channel + clusters->channels + 1);
    for (int64_t k = lw_max64(0, c->channel - clusters->channels); k < end; k++)
        if (clusters->its[k] >= 0 && c->index - clusters->last[k] <= clusters->outputs)
            own = join(clusters, own, find(clusters, clusters->its[k]));
    clusters->n -= own < clusters->n - 1;       /* a crossing that joined others leaves its place free */
    clusters->last[c->channel] = c->index;
    clusters->its[c->channel] = own;
}

int64_t lw_clusters_end(struct lw_clusters *clusters, int64_t next, struct lw_peak *peaks)
{
    const int64_t first = next - clusters->outputs;     /* the first output within reach */
    int64_t *const number = clusters->joined;           /* the clusters' new numbers */
    int64_t n = 0, kept = 0;
    for (int64_t c = 0; c < clusters->n_channels; c++)
        clusters->its[c] = clusters->its[c] >= 0 && clusters->last[c] >= first ? find(clusters, clusters->its[c]) : -1;
    for (int64_t i = 0; i < clusters->n; i++) {
        const bool goes_on = number[i] == i;
        if (goes_on && clusters->list[i].last < first)
            peaks[n++] = clusters->list[i].strongest;
        else if (goes_on) {
            clusters->list[kept] = clusters->list[i];
            number[i] = kept++;
        }
    }
    for (int64_t c = 0; c < clusters->n_channels; c++)
        clusters->its[c] = clusters->its[c] >= 0 ? number[clusters->its[c]] : -1;
    clusters->n = kept;
    for (int64_t i = 0; i < kept; i++)
        number[i] = i;
    return n;
}
