#include "search/pruned_search.hpp"

#include <numeric>

#include "search/sign_filter.hpp"

namespace duelist {

namespace {

constexpr i64 CLIMBERS = 1024;
constexpr i64 CLIMBS = 32;
constexpr i64 CLIMBERS_A_CLIMB = 256;
constexpr int CLIMB_STEPS = 8;
constexpr i64 FIRST_ROWS = 16;
constexpr i64 FIRST_DRAWS = 64;
constexpr int FAR_STEPS = 4;

enum class Goal { best, widest, best_wide, any_wider, random_wide };

// What is searched: a goal, its radius, its threshold on widths, and the rounding error of a value.
struct Aim {
    Goal goal;
    double radius, threshold, noise;
    const Limits& limits;
};

// The incumbent.
struct Found {
    i64 first = -1, second = -1;
    double value, square = 0.0;
    i64 wide = 0, examined = 0;

    explicit Found(double value) : value(value) {}

    void take(double new_value, double new_square, i64 i, i64 j) {
        first = std::min(i, j);
        second = std::max(i, j);
        value = new_value;
        square = new_square;
    }

    // A pair of larger value replaces it; at equal value, wider; equally wide, first in row order. An arm against itself
    // stays at equal value, and so does nobody at all.
    void offer(double new_value, double new_square, i64 i, i64 j) {
        if (new_value < value || (new_value == value && new_square < square)) return;
        if (new_value == value && new_square == square) {
            if (first == second) return;
            if (std::pair(std::min(i, j), std::max(i, j)) > std::pair(first, second)) return;
        }
        take(new_value, new_square, i, j);
    }

    Searched told() const { return {first, second, value, examined}; }
};

// What key_i + key_j must reach for the pair (i, j) to matter still.
double reach(const Aim& aim, const Found& found) {
    switch (aim.goal) {
        case Goal::best: return found.value - aim.noise;
        case Goal::widest: return std::sqrt(found.value) - aim.noise;
        case Goal::best_wide: return found.value;  // sums of keys are the very values compared: no rounding between them
        default: return aim.threshold - aim.noise;
    }
}

// The bound b of the filter: a value, or for wide pairs the width they must exceed.
double filter_bound(const Aim& aim, const Found& found) {
    return aim.goal == Goal::best || aim.goal == Goal::widest ? reach(aim, found) : aim.threshold - aim.noise;
}

// s_i = u_i + radius |v_i - centre| of all arms of a view, and their largest distance from the centre: infinite where a number
// overflows, or is none, so that no bound can be trusted and nothing can be sorted.
double upper_bounds(const View& view, double radius, const std::vector<double>& centre, std::vector<double>& s) {
    Numbers squares(view.n);
    kernels->squared_distances(view.v, view.stride, view.dim, centre.data(), view.n, squares.data());
    s.resize(static_cast<std::size_t>(view.n));
    double far = 0.0;
    for (i64 i = 0; i < view.n; i++) {
        s[i] = (view.u ? view.u[i] : 0.0) + radius * std::sqrt(squares[i]);
        far = std::isfinite(s[i]) ? std::max(far, squares[i]) : INF;
    }
    return std::sqrt(far);
}

// The same of the arms that are listed.
double upper_bounds_of(const View& view, const std::vector<i64>& arms, double radius, const std::vector<double>& centre,
                       std::vector<double>& s) {
    constexpr i64 MOST = 4;  // where every fourth arm is listed, passing over all of them is quicker than collecting those
    if (static_cast<i64>(arms.size()) * MOST > view.n) {
        double far = upper_bounds(view, radius, centre, s);
        s = picked(s, arms);
        return far;
    }
    Field some(view, arms, {});
    return upper_bounds({view.u ? some.u.data() : nullptr, some.v.data(), some.n(), some.stride, some.dim}, radius,
                        centre, s);
}

bool one_point(const View& view) {
    for (i64 k = 0; k < view.dim; k++)
        for (i64 i = 1; i < view.n; i++)
            if (view.v[k * view.stride + i] != view.v[k * view.stride]) return false;
    return true;
}

bool all_equal(const double* values, i64 n) {
    for (i64 i = 1; i < n; i++)
        if (values[i] != values[0]) return false;
    return true;
}

std::vector<i64> everyone(i64 n) {
    std::vector<i64> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// Positions i with key_i + max key >= bound, ascending.
std::vector<i64> reaching(const std::vector<double>& key, double bound) {
    double top = key[kernels->argmax(key.data(), static_cast<i64>(key.size()))];
    std::vector<i64> kept;
    for (std::size_t i = 0; i < key.size(); i++)
        if (key[i] + top >= bound) kept.push_back(static_cast<i64>(i));
    return kept;
}

// How many pairs have key_i + key_j >= bound; keys fall.
i64 pairs_left(const std::vector<double>& key, double bound) {
    i64 count = 0, partner = static_cast<i64>(key.size());
    for (i64 i = 0; i < static_cast<i64>(key.size()); i++) {
        while (partner > 0 && key[i] + key[partner - 1] < bound) partner--;
        if (partner <= i + 1) break;
        count += partner - i - 1;
    }
    return count;
}

// Positions of the CLIMBERS largest keys, largest first; of equal keys at the edge, the first.
std::vector<i64> leaders(const std::vector<double>& key) {
    if (static_cast<i64>(key.size()) <= CLIMBERS) return descending(key);
    std::vector<double> pool = key;
    std::nth_element(pool.begin(), pool.begin() + (CLIMBERS - 1), pool.end(), std::greater<>());
    double least = pool[CLIMBERS - 1];
    i64 room = CLIMBERS - std::count_if(key.begin(), key.end(), [least](double k) { return k > least; });
    std::vector<i64> chosen;
    for (std::size_t i = 0; i < key.size(); i++)
        if (key[i] > least || (key[i] == least && room-- > 0)) chosen.push_back(static_cast<i64>(i));
    return picked(chosen, descending(picked(key, chosen)));
}

// How many of the positions start .. stop - 1, by falling key, have key_row + key >= bound.
i64 reachable(const std::vector<double>& key, i64 row, i64 start, i64 stop, double bound) {
    auto past = std::partition_point(key.begin() + start, key.begin() + stop,
                                     [&](double other) { return key[row] + other >= bound; });
    return past - (key.begin() + start);
}

// Exact values of the pairs of arm `row` with the arms start .. stop - 1 that come after it.
void examine(const Field& field, const Aim& aim, Found& found, i64 row, i64 start, i64 stop, double* line,
             Random* random) {
    start = std::max(start, row + 1);
    if (start >= stop) return;
    kernels->squared_widths(field.v.data(), field.stride, field.dim, row, start, stop, line);
    if (aim.goal == Goal::best)
        kernels->add_utilities(field.u[row], field.u.data() + start, aim.radius, line, stop - start);
    double limit = aim.threshold * aim.threshold;
    bool by_value = aim.goal == Goal::best || aim.goal == Goal::widest;
    for (i64 j = start; j < stop; j++) {
        double at = line[j - start];
        if (by_value ? at < found.value : !(at > limit)) continue;
        i64 first = field.arm[row], second = field.arm[j];
        if (!aim.limits.allows(first, second)) continue;
        if (aim.goal == Goal::best_wide)
            found.offer(field.u[row] + field.u[j], at, first, second);
        else if (aim.goal == Goal::random_wide) {
            found.wide++;
            if (random->below(found.wide) == 0) found.take(at, 0.0, first, second);  // the k-th with chance 1/k
        } else
            found.offer(at, 0.0, first, second);
    }
}

// All pairs of the field whose keys can reach the bound: filtered in blocks, examined, offered to `found`. `far` is the
// largest distance from `centre`.
void sweep(const Field& field, const Aim& aim, Found& found, const std::vector<double>& centre, double far,
           double slack, Random* random = nullptr) {
    i64 n = field.n();
    bool with_u = aim.goal == Goal::best;  // widths are filtered for their own sake
    double sizes = with_u ? kernels->largest_size(field.u.data(), n) : 0.0;
    double bound = filter_bound(aim, found);
    double scale = aim.radius * far + sizes + (std::isfinite(bound) ? std::fabs(bound) : 0.0);
    if (scale == 0.0) scale = 1.0;
    double raised = slack * allowance(field.dim);
    double least = UNDERFLOW_OF_PRODUCTS + (aim.noise / scale) * (aim.noise / scale);
    Factors factors(n, field.dim, false);
    factors.pack_features(field, centre.data(), aim.radius, scale);
    Numbers line(CHUNK);
    double packed = -INF;
    i64 rows = FIRST_ROWS;
    for (i64 start = 0; start + 1 < n && field.key[start] + field.key[start + 1] >= reach(aim, found);) {
        i64 count = std::min(rows, n - start);
        bound = filter_bound(aim, found);
        if (bound == -INF) {  // nothing is known to be worth anything yet: a few rows are looked at whole
            count = std::min<i64>(count, 1);
            for (i64 at = start; at < n; at += CHUNK)
                examine(field, aim, found, start, at, std::min(at + CHUNK, n), line.data(), random);
            found.examined += n - start - 1;
            start += count;
            continue;
        }
        if (bound > packed) {
            packed = bound;
            // h_i + h_j may be above 0 by the noise; then Q_ij >= -noise^2, and such a pair must pass too.
            for (i64 i = 0; i < n; i++) {
                double h = ((with_u ? field.u[i] : 0.0) - 0.5 * bound) / scale, square = factors.square(i);
                factors.set(i, h, square - h * h + raised * (square + h * h) + least);
            }
        }
        for (i64 column = start / TILE * TILE; column < n;) {
            i64 from = std::max(column, start);
            i64 stop = from + reachable(field.key, start, from, std::min(column + BLOCK_COLUMNS, n), reach(aim, found));
            if (stop == from) break;
            const unsigned char* mask = factors.signs(start, count, column, stop - column, -2.0);
            i64 chunks = Factors::chunks(stop - column);
            for (i64 i = 0; i < count; i++) {
                for (i64 c = 0; c < chunks; c++) {
                    i64 first = column + c * CHUNK, last = std::min(first + CHUNK, stop);
                    // Keys fall along the row.
                    if (field.key[start + i] + field.key[std::max(first, from)] < reach(aim, found)) break;
                    if (mask[i * chunks + c]) examine(field, aim, found, start + i, first, last, line.data(), random);
                }
                found.examined += std::max<i64>(0, stop - std::max(from, start + i + 1));
            }
            if (stop < std::min(column + BLOCK_COLUMNS, n)) break;  // keys only fall from here on
            column = stop;
        }
        if (aim.goal == Goal::any_wider && found.first != found.second) return;
        start += count;
        rows = std::min(2 * rows, BLOCK_ROWS);
    }
}

// The arm with the largest value of a line that `arm` may meet. Few are forbidden, so the best are tried until one is not.
i64 best_partner(const Field& field, const Limits& limits, i64 arm, Numbers& line) {
    if (!limits.free()) line[arm] = -INF;
    for (;;) {
        i64 partner = kernels->argmax(line.data(), field.n());
        if (line[partner] == -INF || partner == arm || limits.allows(field.arm[arm], field.arm[partner])) return partner;
        line[partner] = -INF;
    }
}

// Offer the pairs reached by going to the best partner, again and again, from the first arms of the field. Gives the mean midpoint
// of the first pairs of all climbs.
std::vector<double> climb(const Field& field, const Aim& aim, Found& found) {
    i64 n = field.n();
    i64 starts = std::max<i64>(1, std::min(CLIMBS, n / CLIMBERS_A_CLIMB));
    std::vector<double> midpoint(static_cast<std::size_t>(field.dim), 0.0);
    Numbers line(n);
    for (i64 start = 0; start < starts; start++) {
        i64 arm = start;
        double height = -INF;
        int step = 0;
        for (; step < CLIMB_STEPS; step++) {
            kernels->squared_widths(field.v.data(), field.stride, field.dim, arm, 0, n, line.data());
            if (aim.goal == Goal::best)
                kernels->add_utilities(field.u[arm], field.u.data(), aim.radius, line.data(), n);
            i64 partner = best_partner(field, aim.limits, arm, line);
            if (step == 0)
                for (i64 k = 0; k < field.dim; k++) {
                    const double* row = field.v.data() + k * field.stride;
                    midpoint[k] += 0.5 * (row[arm] + row[partner]) / static_cast<double>(starts);
                }
            if (partner == arm || !(line[partner] > height)) break;
            height = line[partner];
            found.offer(height, 0.0, field.arm[arm], field.arm[partner]);
            arm = partner;
        }
        found.examined += (step + 1) * (n - 1);
    }
    return midpoint;
}

// Best or widest pair into `found`; false, and nothing done, where squared widths overflow.
bool search(const View& view, Goal goal, double radius, const Limits& limits, Found& found, double slack) {
    std::vector<double> centre = sample_mean(view), key;
    double far = upper_bounds(view, radius, centre, key);
    double sizes = view.u ? kernels->largest_size(view.u, view.n) : 0.0;
    Aim aim{goal, radius, 0.0, rounding_noise(view.dim, sizes, radius, far), limits};
    if (!std::isfinite(4.0 * far * far) || !std::isfinite(aim.noise)) return false;
    if (limits.free() && far == 0.0 && one_point(view)) return true;  // nothing beats the best arm against itself
    std::vector<i64> top = leaders(key);
    std::vector<double> midpoint = climb(Field(view, top, picked(key, top)), aim, found);
    std::vector<i64> kept = reaching(key, reach(aim, found));
    key = picked(key, kept);
    std::vector<i64> order = descending(key);
    if (static_cast<i64>(kept.size()) > BLOCK_ROWS) {
        // Where utilities matter, a centre between the arms of good pairs leaves far fewer pairs.
        std::vector<double> other_key;
        double other_far = upper_bounds_of(view, kept, radius, midpoint, other_key);
        aim.noise = std::max(aim.noise, rounding_noise(view.dim, sizes, radius, other_far));
        double bound = reach(aim, found);
        std::vector<i64> other_order = descending(other_key);
        if (pairs_left(picked(other_key, other_order), bound) < pairs_left(picked(key, order), bound)) {
            other_order.resize(reaching(other_key, bound).size());  // the others come last in the order
            key = std::move(other_key);
            order = std::move(other_order);
            centre = std::move(midpoint);
            far = other_far;
        }
    }
    sweep(Field(view, picked(kept, order), picked(key, order)), aim, found, centre, far, slack);
    return true;
}

// Every pair, in order: where squares overflow, and no bound can be trusted.
Searched every_pair(const View& view, Goal goal, double radius, double threshold, const Limits& limits, Found found) {
    Field field(view, everyone(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
    Aim aim{goal, radius, std::fabs(threshold), 0.0, limits};
    Numbers line(view.n);
    for (i64 i = 0; i + 1 < view.n; i++) examine(field, aim, found, i, i + 1, view.n, line.data(), nullptr);
    found.examined = view.n * (view.n - 1) / 2;
    return found.told();
}

// A centre, the arms that can be in a pair wider than a threshold, their distances, the largest, and the aim.
struct Spread {
    std::vector<double> centre, key;
    std::vector<i64> kept;
    double far;
    Aim aim;

    Spread(const View& view, Goal goal, double threshold, const Limits& limits)
        : centre(sample_mean(view)), aim{goal, 1.0, std::fabs(threshold), 0.0, limits} {
        std::vector<double> distance;
        View widths = view;
        widths.u = nullptr;
        far = upper_bounds(widths, 1.0, centre, distance);
        aim.noise = rounding_noise(view.dim, 0.0, 1.0, far);
        kept = reaching(distance, aim.threshold - aim.noise);
        key = picked(distance, kept);
    }
    bool overflows() const { return !std::isfinite(4.0 * far * far); }
    Field field(const View& view) const {
        std::vector<i64> order = descending(key);
        return Field(view, picked(kept, order), picked(key, order));
    }
};

}  // namespace

Searched search_best(const View& view, double radius, const Limits& limits, double slack) {
    Found found(-INF);
    if (!limits.distinct) {
        i64 top = kernels->argmax(view.u, view.n);
        found.take(view.u[top] + view.u[top], 0.0, top, top);
    }
    if (search(view, Goal::best, radius, limits, found, slack)) return found.told();
    return every_pair(view, Goal::best, radius, 0.0, limits, found);
}

Searched search_widest(const View& view, const Limits& limits, double slack) {
    View widths = view;
    widths.u = nullptr;
    Found found(0.0);
    if (search(widths, Goal::widest, 1.0, limits, found, slack)) return found.told();
    return every_pair(widths, Goal::widest, 1.0, 0.0, limits, found);
}

Searched search_wider(const View& view, double threshold, const Limits& limits, double slack) {
    double limit = threshold * threshold;
    Spread spread(view, Goal::any_wider, threshold, limits);
    if (spread.overflows()) {
        Searched widest = search_widest(view, limits, slack);
        return widest.value > limit ? widest : Searched{-1, -1, 0.0, widest.examined};
    }
    Found found(0.0);
    i64 n = view.n;
    if (spread.kept.size() < 2) return found.told();
    // The arm farthest from the centre, and the one farthest from that, are wide apart if any are.
    Numbers line(n);
    i64 start = spread.kept[kernels->argmax(spread.key.data(), static_cast<i64>(spread.key.size()))];
    for (int step = 0; step < FAR_STEPS; step++) {
        kernels->squared_widths(view.v, view.stride, view.dim, start, 0, n, line.data());
        i64 partner = kernels->argmax(line.data(), n);
        found.examined += n - 1;
        if (partner != start && line[partner] > limit && limits.allows(start, partner)) {
            found.take(line[partner], 0.0, start, partner);
            return found.told();
        }
        start = partner;
    }
    sweep(spread.field(view), spread.aim, found, spread.centre, spread.far, slack);
    return found.told();
}

// Arms meet by falling u, first the leading ones, so that the wide pairs found rule out most others.
Searched search_best_wide(const View& view, double threshold, const Limits& limits, double slack) {
    double limit = threshold * threshold;
    if (all_equal(view.u, view.n)) {  // as before the first outcome: every sum is the same, and the widest pair wins
        Searched widest = search_widest(view, limits, slack);
        return widest.found() && widest.value > limit ? widest : Searched{-1, -1, 0.0, widest.examined};
    }
    Found found(-INF);
    Spread spread(view, Goal::best_wide, threshold, limits);
    if (spread.overflows()) return every_pair(view, Goal::best_wide, 1.0, threshold, limits, found);
    Searched wide = search_wider(view, threshold, limits, slack);
    found.examined += wide.examined;
    if (!wide.found()) {  // no width above the threshold: no square above its square, but for rounding
        wide = search_widest(view, limits, slack);
        found.examined += wide.examined;
        if (!wide.found() || !(wide.value > limit)) return {-1, -1, 0.0, found.examined};
    }
    found.take(view.u[wide.first] + view.u[wide.second], wide.value, wide.first, wide.second);
    std::vector<double> own(spread.kept.size());
    for (std::size_t k = 0; k < own.size(); k++) own[k] = view.u[spread.kept[k]];
    std::vector<i64> chosen = leaders(own);
    while (chosen.size() > 1) {
        sweep(Field(view, picked(spread.kept, chosen), picked(own, chosen)), spread.aim, found, spread.centre, spread.far,
              slack);
        std::vector<i64> rest = reaching(own, found.value);
        if (rest.size() <= chosen.size()) break;  // the largest u, all of them met
        chosen = picked(rest, descending(picked(own, rest)));
    }
    return found.told();
}

namespace {

// The first wide pair among at most `tries` drawn from the given arms.
bool draw_wide(const View& view, const std::vector<i64>& arms, double limit, i64 tries, const Limits& limits,
               Random& random, Found& found) {
    i64 n = static_cast<i64>(arms.size());
    for (i64 tried = 0; n >= 2 && tried < tries; tried++) {
        i64 a = random.below(n), b = random.below(n - 1);
        i64 i = arms[a], j = arms[b >= a ? b + 1 : b];
        found.examined++;
        double square = view.square(i, j);
        if (square > limit && limits.allows(i, j)) {
            found.take(square, 0.0, i, j);
            return true;
        }
    }
    return false;
}

}  // namespace

// Pairs are drawn until one is wide: among all arms, then among those that can be in a wide pair. Where wide pairs are too rare for
// that, one pass over what can be wide keeps the k-th with chance 1/k.
Searched search_random_wide(const View& view, double threshold, const Limits& limits, Random& random, double slack) {
    double limit = threshold * threshold;
    Found found(0.0);
    if (draw_wide(view, everyone(view.n), limit, FIRST_DRAWS, limits, random, found)) return found.told();
    Spread spread(view, Goal::random_wide, threshold, limits);
    if (spread.overflows()) {
        Field field(view, everyone(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
        Numbers line(view.n);
        for (i64 i = 0; i + 1 < view.n; i++) examine(field, spread.aim, found, i, i + 1, view.n, line.data(), &random);
        return found.told();
    }
    i64 tries = static_cast<i64>(spread.kept.size());
    if (draw_wide(view, spread.kept, limit, tries, limits, random, found) || tries < 2) return found.told();
    sweep(spread.field(view), spread.aim, found, spread.centre, spread.far, slack, &random);
    return found.told();
}

}  // namespace duelist
