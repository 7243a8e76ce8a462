// The best and the widest pair for a given estimate, for arms in single or double precision.
#include "bindings/arrays.hpp"
#include "search/pruned_search.hpp"

namespace duelist {

namespace {

template <class Real>
using ArmsOf = Aligned<const Real, nb::ndim<2>>;

// Arms as rules look at them; theta may be missing.
template <class Real>
struct WhitenedArms {
    Workspace workspace;
    ArmView view;

    WhitenedArms(const ArmsOf<Real>& arms, const double* theta, const Matrix& factor) {
        i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
        if (n == 0 || static_cast<i64>(factor.shape(0)) != dim || static_cast<i64>(factor.shape(1)) != dim)
            throw std::invalid_argument("arms and precision do not fit");
        i64 stride = padded(n);
        workspace.u.fit(stride);
        workspace.v.fit(dim * stride);
        if constexpr (std::is_same_v<Real, double>)
            kernels->whiten(arms.data(), nullptr, n, dim, theta, factor.data(), workspace.u.data(), workspace.v.data(),
                            stride);
        else
            kernels->whiten_single(arms.data(), nullptr, n, dim, theta, factor.data(), workspace.u.data(),
                                   workspace.v.data(), stride);
        view = {workspace.u.data(), workspace.v.data(), n, stride, dim};
        if (n < MANY_ARMS) workspace.fit(n, dim);
    }
};

template <class Real>
nb::tuple best(ArmsOf<Real> arms, Vector theta, Matrix factor, double radius) {
    if (theta.shape(0) != arms.shape(1)) throw std::invalid_argument("theta does not fit the arms");
    FoundPair found;
    {
        nb::gil_scoped_release others_go_on;
        WhitenedArms<Real> looked(arms, theta.data(), factor);
        found = best_pair(looked.view, radius, {}, looked.workspace);
    }
    return nb::make_tuple(found.first, found.second, found.value);
}

template <class Real>
nb::tuple widest(ArmsOf<Real> arms, Matrix factor) {
    FoundPair found;
    {
        nb::gil_scoped_release others_go_on;
        WhitenedArms<Real> looked(arms, nullptr, factor);
        found = widest_pair(looked.view, {}, looked.workspace);
    }
    return nb::make_tuple(found.first, found.second, found.value);
}

// The upper factor of a positive definite matrix; None if it is not.
nb::object factored(Matrix matrix) {
    i64 dim = static_cast<i64>(matrix.shape(0));
    if (static_cast<i64>(matrix.shape(1)) != dim) throw std::invalid_argument("the matrix is not square");
    AlignedDoubles factor(dim * dim);
    std::copy_n(matrix.data(), dim * dim, factor.data());
    if (!kernels->cholesky(factor.data(), dim)) return nb::none();
    return nb::cast(copied(factor.data(), {dim, dim}));
}

}  // namespace

void bind_selection(nb::module_& m) {
    m.attr("MANY_ARMS") = MANY_ARMS;
    m.def("best_pair", &best<double>, "arms"_a.noconvert(), "theta"_a, "factor"_a, "radius"_a);
    m.def("best_pair", &best<float>, "arms"_a.noconvert(), "theta"_a, "factor"_a, "radius"_a);
    m.def("widest_pair", &widest<double>, "arms"_a.noconvert(), "factor"_a);
    m.def("widest_pair", &widest<float>, "arms"_a.noconvert(), "factor"_a);
    m.def("factored", &factored, "matrix"_a);
}

}  // namespace duelist
