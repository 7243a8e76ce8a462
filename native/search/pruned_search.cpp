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

enum class Objective { best, widest, best_wide, any_wider, random_wide };

// What is searched: a goal, its radius, its threshold on widths, and the rounding error of a value.
struct SearchGoal {
    Objective goal;
    double radius, threshold, noise;
    const PairConstraints& constraints;
};

// The incumbent.
struct Incumbent {
    i64 first = -1, second = -1;
    double value, square = 0.0;
    i64 wide = 0, examined = 0;

    explicit Incumbent(double value) : value(value) {}

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

    SearchResult result() const { return {first, second, value, examined}; }
};

// What key_i + key_j must reach for the pair (i, j) to matter still.
double reach(const SearchGoal& aim, const Incumbent& found) {
    switch (aim.goal) {
        case Objective::best: return found.value - aim.noise;
        case Objective::widest: return std::sqrt(found.value) - aim.noise;
        case Objective::best_wide:
            return found.value;  // sums of keys are the very values compared: no rounding between them
        default: return aim.threshold - aim.noise;
    }
}

// The bound b of the filter: a value, or for wide pairs the width they must exceed.
double filter_bound(const SearchGoal& aim, const Incumbent& found) {
    return aim.goal == Objective::best || aim.goal == Objective::widest ? reach(aim, found) : aim.threshold - aim.noise;
}

// s_i = u_i + radius |v_i - centre| of all arms of a view, and their largest distance from the centre: infinite where a number
// overflows, or is none, so that no bound can be trusted and nothing can be sorted.
double upper_bounds(const ArmView& view, double radius, const std::vector<double>& centre, std::vector<double>& s) {
    AlignedDoubles squares(view.n);
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
double upper_bounds_of(const ArmView& view, const std::vector<i64>& arms, double radius,
                       const std::vector<double>& centre, std::vector<double>& s) {
    constexpr i64 MOST =
        4;  // where every fourth arm is listed, passing over all of them is quicker than collecting those
    if (static_cast<i64>(arms.size()) * MOST > view.n) {
        double far = upper_bounds(view, radius, centre, s);
        s = picked(s, arms);
        return far;
    }
    SortedArms some(view, arms, {});
    return upper_bounds({view.u ? some.u.data() : nullptr, some.v.data(), some.n(), some.stride, some.dim}, radius,
                        centre, s);
}

bool one_point(const ArmView& view) {
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

std::vector<i64> all_arms(i64 n) {
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
void evaluate(const SortedArms& sorted, const SearchGoal& aim, Incumbent& found, i64 row, i64 start, i64 stop,
              double* line, Sfc64* random) {
    start = std::max(start, row + 1);
    if (start >= stop) return;
    kernels->squared_widths(sorted.v.data(), sorted.stride, sorted.dim, row, start, stop, line);
    if (aim.goal == Objective::best)
        kernels->add_utilities(sorted.u[row], sorted.u.data() + start, aim.radius, line, stop - start);
    double limit = aim.threshold * aim.threshold;
    bool by_value = aim.goal == Objective::best || aim.goal == Objective::widest;
    for (i64 j = start; j < stop; j++) {
        double at = line[j - start];
        if (by_value ? at < found.value : !(at > limit)) continue;
        i64 first = sorted.arm[row], second = sorted.arm[j];
        if (!aim.constraints.allows(first, second)) continue;
        if (aim.goal == Objective::best_wide)
            found.offer(sorted.u[row] + sorted.u[j], at, first, second);
        else if (aim.goal == Objective::random_wide) {
            found.wide++;
            if (random->below(found.wide) == 0) found.take(at, 0.0, first, second);  // the k-th with chance 1/k
        } else
            found.offer(at, 0.0, first, second);
    }
}

// All pairs of the field whose keys can reach the bound: filtered in blocks, examined, offered to `found`. `far` is the
// largest distance from `centre`.
void sweep(const SortedArms& sorted, const SearchGoal& aim, Incumbent& found, const std::vector<double>& centre,
           double far, double slack, Sfc64* random = nullptr) {
    i64 n = sorted.n();
    bool with_u = aim.goal == Objective::best;  // widths are filtered for their own sake
    double largest_u = with_u ? kernels->largest_magnitude(sorted.u.data(), n) : 0.0;
    double bound = filter_bound(aim, found);
    double scale = aim.radius * far + largest_u + (std::isfinite(bound) ? std::fabs(bound) : 0.0);
    if (scale == 0.0) scale = 1.0;
    double raised = slack * allowance(sorted.dim);
    double least = UNDERFLOW_OF_PRODUCTS + (aim.noise / scale) * (aim.noise / scale);
    SignFilter filter(n, sorted.dim, false);
    filter.pack_features(sorted, centre.data(), aim.radius, scale);
    AlignedDoubles line(CHUNK);
    double packed = -INF;
    i64 rows = FIRST_ROWS;
    for (i64 start = 0; start + 1 < n && sorted.key[start] + sorted.key[start + 1] >= reach(aim, found);) {
        i64 count = std::min(rows, n - start);
        bound = filter_bound(aim, found);
        if (bound == -INF) {  // nothing is known to be worth anything yet: a few rows are looked at whole
            count = std::min<i64>(count, 1);
            for (i64 at = start; at < n; at += CHUNK)
                evaluate(sorted, aim, found, start, at, std::min(at + CHUNK, n), line.data(), random);
            found.examined += n - start - 1;
            start += count;
            continue;
        }
        if (bound > packed) {
            packed = bound;
            // h_i + h_j may be above 0 by the noise; then Q_ij >= -noise^2, and such a pair must pass too.
            for (i64 i = 0; i < n; i++) {
                double h = ((with_u ? sorted.u[i] : 0.0) - 0.5 * bound) / scale, square = filter.square(i);
                filter.set(i, h, square - h * h + raised * (square + h * h) + least);
            }
        }
        for (i64 column = start / TILE * TILE; column < n;) {
            i64 from = std::max(column, start);
            i64 stop =
                from + reachable(sorted.key, start, from, std::min(column + BLOCK_COLUMNS, n), reach(aim, found));
            if (stop == from) break;
            const unsigned char* mask = filter.signs(start, count, column, stop - column, -2.0);
            i64 chunks = SignFilter::chunks(stop - column);
            for (i64 i = 0; i < count; i++) {
                for (i64 c = 0; c < chunks; c++) {
                    i64 first = column + c * CHUNK, last = std::min(first + CHUNK, stop);
                    // Keys fall along the row.
                    if (sorted.key[start + i] + sorted.key[std::max(first, from)] < reach(aim, found)) break;
                    if (mask[i * chunks + c]) evaluate(sorted, aim, found, start + i, first, last, line.data(), random);
                }
                found.examined += std::max<i64>(0, stop - std::max(from, start + i + 1));
            }
            if (stop < std::min(column + BLOCK_COLUMNS, n)) break;  // keys only fall from here on
            column = stop;
        }
        if (aim.goal == Objective::any_wider && found.first != found.second) return;
        start += count;
        rows = std::min(2 * rows, BLOCK_ROWS);
    }
}

// The arm with the largest value of a line that `arm` may meet. Few are forbidden, so the best are tried until one is not.
i64 best_partner(const SortedArms& sorted, const PairConstraints& constraints, i64 arm, AlignedDoubles& line) {
    if (!constraints.unconstrained()) line[arm] = -INF;
    for (;;) {
        i64 partner = kernels->argmax(line.data(), sorted.n());
        if (line[partner] == -INF || partner == arm || constraints.allows(sorted.arm[arm], sorted.arm[partner]))
            return partner;
        line[partner] = -INF;
    }
}

// Offer the pairs reached by going to the best partner, again and again, from the first arms of the field. Gives the mean midpoint
// of the first pairs of all climbs.
std::vector<double> climb(const SortedArms& sorted, const SearchGoal& aim, Incumbent& found) {
    i64 n = sorted.n();
    i64 starts = std::max<i64>(1, std::min(CLIMBS, n / CLIMBERS_A_CLIMB));
    std::vector<double> midpoint(static_cast<std::size_t>(sorted.dim), 0.0);
    AlignedDoubles line(n);
    for (i64 start = 0; start < starts; start++) {
        i64 arm = start;
        double height = -INF;
        int step = 0;
        for (; step < CLIMB_STEPS; step++) {
            kernels->squared_widths(sorted.v.data(), sorted.stride, sorted.dim, arm, 0, n, line.data());
            if (aim.goal == Objective::best)
                kernels->add_utilities(sorted.u[arm], sorted.u.data(), aim.radius, line.data(), n);
            i64 partner = best_partner(sorted, aim.constraints, arm, line);
            if (step == 0)
                for (i64 k = 0; k < sorted.dim; k++) {
                    const double* row = sorted.v.data() + k * sorted.stride;
                    midpoint[k] += 0.5 * (row[arm] + row[partner]) / static_cast<double>(starts);
                }
            if (partner == arm || !(line[partner] > height)) break;
            height = line[partner];
            found.offer(height, 0.0, sorted.arm[arm], sorted.arm[partner]);
            arm = partner;
        }
        found.examined += (step + 1) * (n - 1);
    }
    return midpoint;
}

// Best or widest pair into `found`; false, and nothing done, where squared widths overflow.
bool search(const ArmView& view, Objective goal, double radius, const PairConstraints& constraints, Incumbent& found,
            double slack) {
    std::vector<double> centre = sample_mean(view), key;
    double far = upper_bounds(view, radius, centre, key);
    double largest_u = view.u ? kernels->largest_magnitude(view.u, view.n) : 0.0;
    SearchGoal aim{goal, radius, 0.0, rounding_noise(view.dim, largest_u, radius, far), constraints};
    if (!std::isfinite(4.0 * far * far) || !std::isfinite(aim.noise)) return false;
    if (constraints.unconstrained() && far == 0.0 && one_point(view))
        return true;  // nothing beats the best arm against itself
    std::vector<i64> top = leaders(key);
    std::vector<double> midpoint = climb(SortedArms(view, top, picked(key, top)), aim, found);
    std::vector<i64> kept = reaching(key, reach(aim, found));
    key = picked(key, kept);
    std::vector<i64> order = descending(key);
    if (static_cast<i64>(kept.size()) > BLOCK_ROWS) {
        // Where utilities matter, a centre between the arms of good pairs leaves far fewer pairs.
        std::vector<double> other_key;
        double other_far = upper_bounds_of(view, kept, radius, midpoint, other_key);
        aim.noise = std::max(aim.noise, rounding_noise(view.dim, largest_u, radius, other_far));
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
    sweep(SortedArms(view, picked(kept, order), picked(key, order)), aim, found, centre, far, slack);
    return true;
}

// Every pair, in order: where squares overflow, and no bound can be trusted.
SearchResult every_pair(const ArmView& view, Objective goal, double radius, double threshold,
                        const PairConstraints& constraints, Incumbent found) {
    SortedArms sorted(view, all_arms(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
    SearchGoal aim{goal, radius, std::fabs(threshold), 0.0, constraints};
    AlignedDoubles line(view.n);
    for (i64 i = 0; i + 1 < view.n; i++) evaluate(sorted, aim, found, i, i + 1, view.n, line.data(), nullptr);
    found.examined = view.n * (view.n - 1) / 2;
    return found.result();
}

// A centre, the arms that can be in a pair wider than a threshold, their distances, the largest, and the aim.
struct WidthBounds {
    std::vector<double> centre, key;
    std::vector<i64> kept;
    double far;
    SearchGoal aim;

    WidthBounds(const ArmView& view, Objective goal, double threshold, const PairConstraints& constraints)
        : centre(sample_mean(view)), aim{goal, 1.0, std::fabs(threshold), 0.0, constraints} {
        std::vector<double> distance;
        ArmView widths = view;
        widths.u = nullptr;
        far = upper_bounds(widths, 1.0, centre, distance);
        aim.noise = rounding_noise(view.dim, 0.0, 1.0, far);
        kept = reaching(distance, aim.threshold - aim.noise);
        key = picked(distance, kept);
    }
    bool overflows() const { return !std::isfinite(4.0 * far * far); }
    SortedArms sorted(const ArmView& view) const {
        std::vector<i64> order = descending(key);
        return SortedArms(view, picked(kept, order), picked(key, order));
    }
};

}  // namespace

SearchResult search_best(const ArmView& view, double radius, const PairConstraints& constraints, double slack) {
    Incumbent found(-INF);
    if (!constraints.distinct) {
        i64 top = kernels->argmax(view.u, view.n);
        found.take(view.u[top] + view.u[top], 0.0, top, top);
    }
    if (search(view, Objective::best, radius, constraints, found, slack)) return found.result();
    return every_pair(view, Objective::best, radius, 0.0, constraints, found);
}

SearchResult search_widest(const ArmView& view, const PairConstraints& constraints, double slack) {
    ArmView widths = view;
    widths.u = nullptr;
    Incumbent found(0.0);
    if (search(widths, Objective::widest, 1.0, constraints, found, slack)) return found.result();
    return every_pair(widths, Objective::widest, 1.0, 0.0, constraints, found);
}

SearchResult search_wider(const ArmView& view, double threshold, const PairConstraints& constraints, double slack) {
    double limit = threshold * threshold;
    WidthBounds spread(view, Objective::any_wider, threshold, constraints);
    if (spread.overflows()) {
        SearchResult widest = search_widest(view, constraints, slack);
        return widest.value > limit ? widest : SearchResult{-1, -1, 0.0, widest.examined};
    }
    Incumbent found(0.0);
    i64 n = view.n;
    if (spread.kept.size() < 2) return found.result();
    // The arm farthest from the centre, and the one farthest from that, are wide apart if any are.
    AlignedDoubles line(n);
    i64 start = spread.kept[kernels->argmax(spread.key.data(), static_cast<i64>(spread.key.size()))];
    for (int step = 0; step < FAR_STEPS; step++) {
        kernels->squared_widths(view.v, view.stride, view.dim, start, 0, n, line.data());
        i64 partner = kernels->argmax(line.data(), n);
        found.examined += n - 1;
        if (partner != start && line[partner] > limit && constraints.allows(start, partner)) {
            found.take(line[partner], 0.0, start, partner);
            return found.result();
        }
        start = partner;
    }
    sweep(spread.sorted(view), spread.aim, found, spread.centre, spread.far, slack);
    return found.result();
}

// Arms meet by falling u, first the leading ones, so that the wide pairs found rule out most others.
SearchResult search_best_wide(const ArmView& view, double threshold, const PairConstraints& constraints, double slack) {
    double limit = threshold * threshold;
    if (all_equal(view.u, view.n)) {  // as before the first outcome: every sum is the same, and the widest pair wins
        SearchResult widest = search_widest(view, constraints, slack);
        return widest.found() && widest.value > limit ? widest : SearchResult{-1, -1, 0.0, widest.examined};
    }
    Incumbent found(-INF);
    WidthBounds spread(view, Objective::best_wide, threshold, constraints);
    if (spread.overflows()) return every_pair(view, Objective::best_wide, 1.0, threshold, constraints, found);
    SearchResult wide = search_wider(view, threshold, constraints, slack);
    found.examined += wide.examined;
    if (!wide.found()) {  // no width above the threshold: no square above its square, but for rounding
        wide = search_widest(view, constraints, slack);
        found.examined += wide.examined;
        if (!wide.found() || !(wide.value > limit)) return {-1, -1, 0.0, found.examined};
    }
    found.take(view.u[wide.first] + view.u[wide.second], wide.value, wide.first, wide.second);
    std::vector<double> own(spread.kept.size());
    for (std::size_t k = 0; k < own.size(); k++) own[k] = view.u[spread.kept[k]];
    std::vector<i64> chosen = leaders(own);
    while (chosen.size() > 1) {
        sweep(SortedArms(view, picked(spread.kept, chosen), picked(own, chosen)), spread.aim, found, spread.centre,
              spread.far, slack);
        std::vector<i64> rest = reaching(own, found.value);
        if (rest.size() <= chosen.size()) break;  // the largest u, all of them met
        chosen = picked(rest, descending(picked(own, rest)));
    }
    return found.result();
}

namespace {

// The first wide pair among at most `tries` drawn from the given arms.
bool draw_wide(const ArmView& view, const std::vector<i64>& arms, double limit, i64 tries,
               const PairConstraints& constraints, Sfc64& random, Incumbent& found) {
    i64 n = static_cast<i64>(arms.size());
    for (i64 tried = 0; n >= 2 && tried < tries; tried++) {
        i64 a = random.below(n), b = random.below(n - 1);
        i64 i = arms[a], j = arms[b >= a ? b + 1 : b];
        found.examined++;
        double square = view.square(i, j);
        if (square > limit && constraints.allows(i, j)) {
            found.take(square, 0.0, i, j);
            return true;
        }
    }
    return false;
}

}  // namespace

// Pairs are drawn until one is wide: among all arms, then among those that can be in a wide pair. Where wide pairs are too rare for
// that, one pass over what can be wide keeps the k-th with chance 1/k.
SearchResult search_random_wide(const ArmView& view, double threshold, const PairConstraints& constraints,
                                Sfc64& random, double slack) {
    double limit = threshold * threshold;
    Incumbent found(0.0);
    if (draw_wide(view, all_arms(view.n), limit, FIRST_DRAWS, constraints, random, found)) return found.result();
    WidthBounds spread(view, Objective::random_wide, threshold, constraints);
    if (spread.overflows()) {
        SortedArms sorted(view, all_arms(view.n), std::vector<double>(static_cast<std::size_t>(view.n)));
        AlignedDoubles line(view.n);
        for (i64 i = 0; i + 1 < view.n; i++)
            evaluate(sorted, spread.aim, found, i, i + 1, view.n, line.data(), &random);
        return found.result();
    }
    i64 tries = static_cast<i64>(spread.kept.size());
    if (draw_wide(view, spread.kept, limit, tries, constraints, random, found) || tries < 2) return found.result();
    sweep(spread.sorted(view), spread.aim, found, spread.centre, spread.far, slack, &random);
    return found.result();
}

}  // namespace duelist
