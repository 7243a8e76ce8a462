// Arms that no other arm rules out, among very many.
//
// Arm j rules out arm i if u_i - u_j + r |v_i - v_j| < 0. This is an order by a cone, so that an arm ruled out need not be
// tried as a rival: whom it rules out, its own rival rules out as well. Rivals come by falling u, in blocks that grow, and the
// arms they rule out leave. Rounding could break the chain; an arm therefore only leaves where it is ruled out by
// three times the rounding error, and otherwise stays as a rival.
//
// A block of pairs is filtered by the sign of N_ij = r^2 |v_i - v_j|^2 - (u_i - u_j)^2, negative if one arm rules out the
// other: a product as in `filters.hpp`, with lowered instead of raised diagonal terms. Leaving features out makes N
// smaller and loses no pair; sixteen features nearly always tell as much as all.
#include <numeric>

#include "search/sign_filter.hpp"
#include "search/pruned_search.hpp"

namespace duelist {

namespace {

constexpr i64 FEATURES = 16;
constexpr i64 FIRST_RIVALS = 4;
constexpr i64 CROWDED = 8;

enum Fate : signed char { FREE, RULED_OUT, GONE };

struct Contest {
    double radius, noise;
    std::vector<Fate> fate;
    i64 rivals = FIRST_RIVALS;  // of the next block
    i64 features;               // that its filter looks at
    i64 examined = 0, chunks = 0, exact = 0;

    // The fate of the arms start .. stop - 1 after meeting the rival.
    void meet(const Field& field, i64 rival, i64 start, i64 stop, double* line) {
        kernels->squared_widths(field.v.data(), field.stride, field.dim, rival, start, stop, line);
        double own = field.u[rival];
        for (i64 j = start; j < stop; j++) {
            double lead = field.u[j] - own + radius * std::sqrt(line[j - start]);
            if (!(lead < 0.0)) continue;
            Fate& arm = fate[static_cast<std::size_t>(field.arm[j])];
            if (lead < -3.0 * noise)
                arm = GONE;
            else if (arm == FREE)
                arm = RULED_OUT;
        }
    }
    bool gone(i64 arm) const { return fate[static_cast<std::size_t>(arm)] == GONE; }
    i64 gone_from(const Field& field, i64 start) const {
        return std::count_if(field.arm.begin() + start, field.arm.end(), [this](i64 arm) { return gone(arm); });
    }
};

// Rows (r (v - c), h, a, 1) / scale with h = u - (largest + smallest u) / 2 and a = r^2 |v - c|^2 - h^2, lowered.
//
// Rounding can hide an order from a comparison by the noise: (r |v_i - v_j|)^2 < (|u_i - u_j| + noise)^2, where
// |u_i - u_j| <= |h_i| + |h_j|.
Factors packed(const Field& field, const Contest& contest, const std::vector<double>& centre, double scale,
               double lowering) {
    Factors factors(field.n(), contest.features, true);
    factors.pack_features(field, centre.data(), contest.radius, scale);
    double middle = 0.5 * (field.u[0] + field.u[field.n() - 1]), noise = contest.noise / scale;
    for (i64 i = 0; i < field.n(); i++) {
        double h = (field.u[i] - middle) / scale, square = factors.square(i);
        double lowered = lowering * (square + h * h) + 2.0 * noise * std::fabs(h) + noise * noise + UNDERFLOW_OF_PRODUCTS;
        factors.set(i, h, square - h * h - lowered);
    }
    return factors;
}

// Arms in falling order of u as rivals of all later ones, block by block; how many were rivals. Stops early where enough arms left
// that the others should close ranks, or where more features are needed.
i64 meet_in_blocks(const Field& field, Contest& contest, const std::vector<double>& centre, double far, double slack) {
    i64 n = field.n();
    double scale = contest.radius * far + std::fabs(field.u[0] - field.u[n - 1]);
    if (scale == 0.0) scale = 1.0;
    Factors factors = packed(field, contest, centre, scale, slack * allowance(contest.features));
    Numbers line(CHUNK);
    i64 start = 0;
    while (start < n) {
        i64 count = std::min(contest.rivals, n - start);
        contest.rivals = std::min(4 * contest.rivals, BLOCK_ROWS);
        contest.chunks = contest.exact = 0;
        for (i64 column = start / TILE * TILE; column < n; column += BLOCK_COLUMNS) {
            i64 stop = std::min(column + BLOCK_COLUMNS, n), chunks = Factors::chunks(stop - column);
            const unsigned char* mask = factors.signs(start, count, column, stop - column, 2.0);
            for (i64 i = 0; i < count; i++) {
                i64 rival = start + i;
                contest.examined += std::max<i64>(0, stop - std::max(column, rival + 1));
                if (contest.gone(field.arm[rival])) continue;
                for (i64 c = 0; c < chunks; c++) {
                    i64 from = std::max(column + c * CHUNK, rival + 1), to = std::min(column + (c + 1) * CHUNK, stop);
                    contest.chunks++;
                    if (!mask[i * chunks + c] || from >= to) continue;
                    contest.exact++;
                    contest.meet(field, rival, from, to, line.data());
                }
            }
        }
        start += count;
        if (CROWDED * contest.exact > contest.chunks && contest.features < field.dim) {
            contest.features = std::min(2 * contest.features, field.dim);
            break;
        }
        if (CROWDED * contest.gone_from(field, start) > n - start) break;
    }
    return start;
}

// The arms from position `start` on that have not left, in their order.
Field rest(const View& view, const Field& field, const Contest& contest, i64 start) {
    std::vector<i64> left;
    std::copy_if(field.arm.begin() + start, field.arm.end(), std::back_inserter(left),
                 [&](i64 arm) { return !contest.gone(arm); });
    return Field(view, left, {});
}

i64 of_every_pair(const View& view, double radius, i64* kept) {
    i64 count = 0;
    for (i64 i = 0; i < view.n; i++) {
        bool survives = true;
        for (i64 j = 0; survives && j < view.n; j++)
            survives = !(view.u[j] > view.u[i] && view.u[i] - view.u[j] + radius * std::sqrt(view.square(i, j)) < 0.0);
        if (survives) kept[count++] = i;
    }
    return count;
}

}  // namespace

i64 search_undominated(const View& view, double radius, i64* kept, i64* examined, double slack) {
    i64 n = view.n;
    std::vector<double> centre = sample_mean(view);
    Numbers line(n);
    kernels->squared_distances(view.v, view.stride, view.dim, centre.data(), n, line.data());
    double far = std::sqrt(line[kernels->argmax(line.data(), n)]);
    double noise = rounding_noise(view.dim, kernels->largest_size(view.u, n), radius, far);
    if (!std::isfinite(4.0 * far * far) || !std::isfinite(4.0 * noise)) {
        if (examined) *examined = n * (n - 1) / 2;
        return of_every_pair(view, radius, kept);
    }
    Contest contest{radius, noise, std::vector<Fate>(static_cast<std::size_t>(n), FREE), FIRST_RIVALS,
                    std::min(view.dim, FEATURES)};
    contest.examined = n - 1;
    std::vector<i64> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    {  // the best arm rules most of them out
        Field by_number(view, all, {});
        contest.meet(by_number, kernels->argmax(view.u, n), 0, n, line.data());
    }
    all.erase(std::remove_if(all.begin(), all.end(), [&](i64 arm) { return contest.gone(arm); }), all.end());
    std::stable_sort(all.begin(), all.end(), [&](i64 a, i64 b) { return view.u[a] > view.u[b]; });
    Field field(view, all, {});
    while (field.n() > 1) {
        i64 reached = meet_in_blocks(field, contest, centre, far, slack);
        field = rest(view, field, contest, reached);
    }
    i64 count = 0;
    for (i64 i = 0; i < n; i++)
        if (contest.fate[static_cast<std::size_t>(i)] == FREE) kept[count++] = i;
    if (examined) *examined = contest.examined;
    return count;
}

}  // namespace duelist
