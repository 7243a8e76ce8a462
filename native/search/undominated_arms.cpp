// The undominated arms among thousands.
//
// Arm j dominates arm i if u_i - u_j + r |v_i - v_j| < 0. This is the partial order of a cone, so a dominated arm need
// not be tried as a rival: its own rival dominates everything that it does. Rivals are taken by decreasing u, in
// growing blocks, and the arms they dominate are removed. Rounding could break transitivity, so an arm is removed only
// if it is dominated by three times the rounding error; otherwise it stays as a rival.
//
// Blocks of pairs are filtered by the sign of N_ij = r^2 |v_i - v_j|^2 - (u_i - u_j)^2, which is negative if one arm
// dominates the other. This is a product as in `sign_filter.hpp`, with lowered instead of raised diagonal terms.
// Omitting features makes N smaller and loses no pair; sixteen features are nearly always enough.
#include <numeric>

#include "search/pruned_search.hpp"
#include "search/sign_filter.hpp"

namespace duelist {

namespace {

constexpr i64 FEATURES = 16;
constexpr i64 FIRST_RIVALS = 4;
constexpr i64 CROWDED = 8;

enum DominanceStatus : signed char { UNDOMINATED, DOMINATED, REMOVED };

struct DominanceState {
    double radius, noise;
    std::vector<DominanceStatus> status;
    i64 rivals = FIRST_RIVALS;  // in the next block
    i64 features;               // used by the filter
    i64 examined = 0, chunks = 0, exact = 0;

    // Update the status of the arms start .. stop - 1 by comparing them with the rival.
    void compare_with_rival(const SortedArms& sorted, i64 rival, i64 start, i64 stop, double* line) {
        kernels->squared_widths(sorted.v.data(), sorted.stride, sorted.dim, rival, start, stop, line);
        double own = sorted.u[rival];
        for (i64 j = start; j < stop; j++) {
            double lead = sorted.u[j] - own + radius * std::sqrt(line[j - start]);
            if (!(lead < 0.0)) continue;
            DominanceStatus& arm = status[static_cast<std::size_t>(sorted.arm[j])];
            if (lead < -3.0 * noise)
                arm = REMOVED;
            else if (arm == UNDOMINATED)
                arm = DOMINATED;
        }
    }
    bool removed(i64 arm) const { return status[static_cast<std::size_t>(arm)] == REMOVED; }
    i64 removed_from(const SortedArms& sorted, i64 start) const {
        return std::count_if(sorted.arm.begin() + start, sorted.arm.end(), [this](i64 arm) { return removed(arm); });
    }
};

// Pack (r (v - c), h, a, 1) / scale with h = u - (largest u + smallest u) / 2 and a = r^2 |v - c|^2 - h^2, lowered.
//
// Rounding can hide dominance by up to the noise: (r |v_i - v_j|)^2 < (|u_i - u_j| + noise)^2, where |u_i - u_j| <=
// |h_i| + |h_j|.
SignFilter packed(const SortedArms& sorted, const DominanceState& dominance, const std::vector<double>& center,
                  double scale, double lowering) {
    SignFilter filter(sorted.n(), dominance.features, true);
    filter.pack_features(sorted, center.data(), dominance.radius, scale);
    double middle = 0.5 * (sorted.u[0] + sorted.u[sorted.n() - 1]), noise = dominance.noise / scale;
    for (i64 i = 0; i < sorted.n(); i++) {
        double h = (sorted.u[i] - middle) / scale, square = filter.square(i);
        double lowered =
            lowering * (square + h * h) + 2.0 * noise * std::fabs(h) + noise * noise + UNDERFLOW_OF_PRODUCTS;
        filter.set(i, h, square - h * h - lowered);
    }
    return filter;
}

// Try arms as rivals of all later ones by decreasing u, in blocks; return the number of rivals tried. Stop early if
// enough arms were removed to pack the rest again, or if the filter needs more features.
i64 compare_in_blocks(const SortedArms& sorted, DominanceState& dominance, const std::vector<double>& center,
                      double far, double slack) {
    i64 n = sorted.n();
    double scale = dominance.radius * far + std::fabs(sorted.u[0] - sorted.u[n - 1]);
    if (scale == 0.0) scale = 1.0;
    SignFilter filter = packed(sorted, dominance, center, scale, slack * allowance(dominance.features));
    AlignedDoubles line(CHUNK);
    i64 start = 0;
    while (start < n) {
        i64 count = std::min(dominance.rivals, n - start);
        dominance.rivals = std::min(4 * dominance.rivals, BLOCK_ROWS);
        dominance.chunks = dominance.exact = 0;
        for (i64 column = start / TILE * TILE; column < n; column += BLOCK_COLUMNS) {
            i64 stop = std::min(column + BLOCK_COLUMNS, n), chunks = SignFilter::chunks(stop - column);
            const unsigned char* mask = filter.signs(start, count, column, stop - column, 2.0);
            for (i64 i = 0; i < count; i++) {
                i64 rival = start + i;
                dominance.examined += std::max<i64>(0, stop - std::max(column, rival + 1));
                if (dominance.removed(sorted.arm[rival])) continue;
                for (i64 c = 0; c < chunks; c++) {
                    i64 from = std::max(column + c * CHUNK, rival + 1), to = std::min(column + (c + 1) * CHUNK, stop);
                    dominance.chunks++;
                    if (!mask[i * chunks + c] || from >= to) continue;
                    dominance.exact++;
                    dominance.compare_with_rival(sorted, rival, from, to, line.data());
                }
            }
        }
        start += count;
        if (CROWDED * dominance.exact > dominance.chunks && dominance.features < sorted.dim) {
            dominance.features = std::min(2 * dominance.features, sorted.dim);
            break;
        }
        if (CROWDED * dominance.removed_from(sorted, start) > n - start) break;
    }
    return start;
}

// The arms from position `start` on that were not removed, in order.
SortedArms rest(const ArmView& view, const SortedArms& sorted, const DominanceState& dominance, i64 start) {
    std::vector<i64> left;
    std::copy_if(sorted.arm.begin() + start, sorted.arm.end(), std::back_inserter(left),
                 [&](i64 arm) { return !dominance.removed(arm); });
    return SortedArms(view, left, {});
}

i64 undominated_by_all_pairs(const ArmView& view, double radius, i64* kept) {
    i64 count = 0;
    for (i64 i = 0; i < view.n; i++) {
        bool survives = true;
        for (i64 j = 0; survives && j < view.n; j++)
            survives =
                !(view.u[j] > view.u[i] && view.u[i] - view.u[j] + radius * std::sqrt(view.squared_width(i, j)) < 0.0);
        if (survives) kept[count++] = i;
    }
    return count;
}

}  // namespace

i64 search_undominated(const ArmView& view, double radius, i64* kept, i64* examined, double slack) {
    i64 n = view.n;
    std::vector<double> center = sample_mean(view);
    AlignedDoubles line(n);
    kernels->squared_distances(view.v, view.stride, view.dim, center.data(), n, line.data());
    double far = std::sqrt(line[kernels->argmax(line.data(), n)]);
    double noise = rounding_noise(view.dim, kernels->largest_magnitude(view.u, n), radius, far);
    if (!std::isfinite(4.0 * far * far) || !std::isfinite(4.0 * noise)) {
        if (examined) *examined = n * (n - 1) / 2;
        return undominated_by_all_pairs(view, radius, kept);
    }
    DominanceState dominance{radius, noise, std::vector<DominanceStatus>(static_cast<std::size_t>(n), UNDOMINATED),
                             FIRST_RIVALS, std::min(view.dim, FEATURES)};
    dominance.examined = n - 1;
    std::vector<i64> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    {  // the best arm dominates most others
        SortedArms by_number(view, all, {});
        dominance.compare_with_rival(by_number, kernels->argmax(view.u, n), 0, n, line.data());
    }
    all.erase(std::remove_if(all.begin(), all.end(), [&](i64 arm) { return dominance.removed(arm); }), all.end());
    std::stable_sort(all.begin(), all.end(), [&](i64 a, i64 b) { return view.u[a] > view.u[b]; });
    SortedArms sorted(view, all, {});
    while (sorted.n() > 1) {
        i64 reached = compare_in_blocks(sorted, dominance, center, far, slack);
        sorted = rest(view, sorted, dominance, reached);
    }
    i64 count = 0;
    for (i64 i = 0; i < n; i++)
        if (dominance.status[static_cast<std::size_t>(i)] == UNDOMINATED) kept[count++] = i;
    if (examined) *examined = dominance.examined;
    return count;
}

}  // namespace duelist
