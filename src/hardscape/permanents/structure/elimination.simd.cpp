// What is eliminated from Glynn's formula of a sparse matrix, and the operations that are left; see
// elimination.py.
#include <nanobind/stl/complex.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "permanents/kernel.hpp"

namespace hardscape::permanents {
namespace {

constexpr std::size_t kMostInner = 7, kMasks = 1 << kMostInner;
// Inner variables are looked for among so many rows with the fewest entries.
constexpr std::size_t kCandidates = 14;
// Values that registers hold; more of them cost memory accesses.
constexpr double kRegisters = 100;
// Operations of each term besides the program.
constexpr double kOverhead = 4;

using Lines = std::vector<std::size_t>;

// How often a flip of one of these fast signs comes, for each step.
double rate(std::uint32_t changes) {
  double found = 0;
  for (double each = 0.5; changes; changes >>= 1, each *= 0.5) found += changes & 1 ? each : 0;
  return found;
}

// A value of the program, by number, or a constant.
template <class Number>
struct Operand {
  std::int32_t value = -1;
  Number constant{};

  bool is_constant() const { return value < 0; }
  bool is_one() const { return is_constant() && constant == Number(1); }
};

template <class Number>
struct Operation {
  Operand<Number> left;
  std::optional<Operand<Number>> right, more;
  std::uint32_t changes;
};

// Coefficients of products of inner variables, by the mask of these; no variable is squared.
template <class Number>
struct Polynomial {
  std::vector<std::pair<std::uint32_t, Operand<Number>>> terms;
  std::uint32_t scope, changes;
};

template <class Number>
class Program {
 public:
  using Value = Operand<Number>;
  using Terms = Polynomial<Number>;

  Program(std::size_t first, std::vector<std::uint32_t> leaves)
      : leaves(std::move(leaves)), first_(first) {}

  // The product, of terms that contain all of `needed` only.
  Terms multiply(const Terms& one, const Terms& other, std::uint32_t needed) {
    masks_.clear();
    for (const auto& [a, x] : one.terms) {
      for (const auto& [b, y] : other.terms) {
        if (a & b || ((a | b) & needed) != needed) continue;
        Pairs& pairs = pairs_[a | b];
        if (pairs.empty()) masks_.push_back(a | b);
        pairs.emplace_back(x, y);
      }
    }
    Terms product{{}, one.scope | other.scope, one.changes | other.changes};
    for (const std::uint32_t mask : masks_) {
      product.terms.emplace_back(mask, sum_of_products(pairs_[mask]));
      pairs_[mask].clear();
    }
    return product;
  }

  std::vector<std::uint32_t> leaves;  // the fast signs that are in each factor
  std::vector<Operation<Number>> operations;

 private:
  using Pairs = std::vector<std::pair<Value, Value>>;

  std::uint32_t changes(const Value& operand) const {
    if (operand.is_constant()) return 0;
    const auto number = static_cast<std::size_t>(operand.value);
    return number < first_ ? leaves[number] : operations[number - first_].changes;
  }

  Value emit(const Value& left, std::optional<Value> right, std::optional<Value> more) {
    std::uint32_t all = changes(left);
    for (const auto& operand : {right, more}) all |= operand ? changes(*operand) : 0;
    operations.push_back({left, right, more, all});
    return {static_cast<std::int32_t>(first_ + operations.size() - 1), {}};
  }

  // Sum of x * y; ones multiply for nothing, and constants are calculated here.
  Value sum_of_products(const Pairs& pairs) {
    std::optional<Value> total;
    const auto add = [&](const Value& value) {
      if (!total)
        total = value;
      else if (total->is_constant() && value.is_constant())
        total->constant += value.constant;
      else
        total = emit(*total, {}, value);
    };
    for (const auto& [x, y] : pairs) {
      if (x.is_constant() && y.is_constant())
        add({-1, x.constant * y.constant});
      else if (x.is_one())
        add(y);
      else if (y.is_one())
        add(x);
    }
    for (const auto& [x, y] : pairs) {
      if ((x.is_constant() && y.is_constant()) || x.is_one() || y.is_one()) continue;
      total = emit(x, y, total);
    }
    return *total;
  }

  std::size_t first_;
  std::array<Pairs, kMasks> pairs_;  // of a product, by mask; and the masks that there are
  std::vector<std::uint32_t> masks_;
};

// A choice of rows with what it makes of the formula.
template <class Number>
struct Plan {
  Lines inner, fast;
  Program<Number> program;
  Operand<Number> result;
  std::vector<Number> scales;
  double cost;  // operations for each term of Glynn's formula
};

template <class Number>
class Elimination {
 public:
  Elimination(const Number* entries, std::size_t n, std::size_t fast)
      : entries_(entries), n_(n), fast_(fast), support_(n), most_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (at(i, j) != Number(0)) support_[i].push_back(j);
        most_[j] = std::max(most_[j], std::abs(at(i, j)));
      }
    }
  }

  // The best choice, one inner row after the other.
  Plan<Number> best() const {
    Lines rows(n_);
    std::iota(rows.begin(), rows.end(), 0);
    std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
      return support_[a].size() < support_[b].size();
    });
    Plan<Number> best = built({});
    Lines inner;
    while (inner.size() + 1 + fast_ < n_ && inner.size() < kMostInner) {
      std::optional<Plan<Number>> trial;
      std::size_t tried = 0;
      for (const std::size_t row : rows) {
        if (std::find(inner.begin(), inner.end(), row) != inner.end()) continue;
        if (++tried > kCandidates) break;
        Lines more = inner;
        more.push_back(row);
        Plan<Number> found = built(std::move(more));
        if (!trial || found.cost < trial->cost) trial = std::move(found);
      }
      inner = trial->inner;
      const bool hopeless = trial->cost > 1.3 * best.cost;
      if (trial->cost < best.cost) best = std::move(*trial);
      if (hopeless) break;
    }
    return best;
  }

 private:
  using Terms = Polynomial<Number>;

  Number at(std::size_t i, std::size_t j) const { return entries_[i * n_ + j]; }

  Plan<Number> built(Lines inner) const {
    std::vector<std::uint32_t> scopes(n_);
    for (std::size_t k = 0; k < inner.size(); ++k) {
      for (const std::size_t j : support_[inner[k]]) scopes[j] |= 1u << k;
    }
    Lines fast = fast_rows(inner, scopes);
    std::vector<std::uint32_t> leaves(n_);
    for (std::size_t b = 0; b < fast.size(); ++b) {
      for (const std::size_t j : support_[fast[b]]) leaves[j] |= 1u << b;
    }
    Program<Number> program(n_, leaves);
    std::vector<Terms> pieces;
    std::vector<Number> scales;
    for (std::size_t j = 0; j < n_; ++j) {
      // An inner entry becomes 1, unless it is tiny beside the outer ones.
      Number scale(0);
      for (const std::size_t i : inner) {
        if (std::abs(at(i, j)) > std::abs(scale)) scale = at(i, j);
      }
      if (!(std::abs(scale) > most_[j] / (1 << 20))) scale = Number(1);
      scales.push_back(scale);
      Terms piece{{{0, {static_cast<std::int32_t>(j), {}}}}, scopes[j], leaves[j]};
      for (std::size_t k = 0; k < inner.size(); ++k) {
        const Number x = at(inner[k], j);
        if (x != Number(0))
          piece.terms.push_back({1u << k, {-1, x == scale ? Number(1) : x / scale}});
      }
      pieces.push_back(std::move(piece));
    }
    const Operand<Number> result = summed_out(program, std::move(pieces), inner.size());
    const double cost = cost_of(program, inner.size());
    return {std::move(inner), std::move(fast), std::move(program), result, std::move(scales), cost};
  }

  double cost_of(const Program<Number>& program, std::size_t inner) const {
    double steps = kOverhead, held = 0;
    for (const std::uint32_t changes : program.leaves) {
      steps += rate(changes);
      held += changes != 0;
    }
    const double every = std::ldexp(1.0, -static_cast<int>(fast_));
    for (const auto& operation : program.operations) {
      steps += rate(operation.changes) + every;
      held += operation.changes != 0;
    }
    // Values that wait for a later step stay in registers.
    steps *= 1 + std::max(0.0, held / kRegisters - 1);
    return std::ldexp(steps, -static_cast<int>(inner));
  }

  // Rows that add the least work, one after the other.
  Lines fast_rows(const Lines& inner, const std::vector<std::uint32_t>& scopes) const {
    std::vector<bool> taken(n_), covered(n_);
    for (const std::size_t i : inner) taken[i] = true;
    Lines chosen;
    while (chosen.size() < fast_) {
      std::size_t best = n_;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < n_; ++i) {
        if (taken[i]) continue;
        auto work = static_cast<double>(support_[i].size());
        for (const std::size_t j : support_[i]) {
          if (!covered[j]) work += 1 + std::ldexp(1.0, std::popcount(scopes[j]));
        }
        if (work < least) {
          least = work;
          best = i;
        }
      }
      taken[best] = true;
      chosen.push_back(best);
      for (const std::size_t j : support_[best]) covered[j] = true;
    }
    return chosen;
  }

  // The coefficient of the product of all inner variables in the product of the pieces.
  static Operand<Number> summed_out(Program<Number>& program, std::vector<Terms> pieces,
                                    std::size_t inner) {
    const auto slow_first = [](const Terms& a, const Terms& b) {
      return rate(a.changes) < rate(b.changes);
    };
    for (std::uint32_t remaining = (1u << inner) - 1; remaining;) {
      const std::uint32_t bit = narrowest(pieces, remaining);
      remaining &= ~bit;
      const auto rest = std::stable_partition(pieces.begin(), pieces.end(),
                                              [&](const Terms& p) { return !(p.scope & bit); });
      std::stable_sort(rest, pieces.end(), slow_first);
      if (rest == pieces.end()) return {};  // a row of zeros
      Terms product = std::move(*rest);
      for (auto piece = rest + 1; piece != pieces.end(); ++piece) {
        product = program.multiply(product, *piece, piece + 1 == pieces.end() ? bit : 0);
      }
      pieces.erase(rest, pieces.end());
      Terms left{{}, product.scope & ~bit, product.changes};
      for (const auto& [mask, x] : product.terms) {
        if (mask & bit) left.terms.emplace_back(mask ^ bit, x);
      }
      pieces.push_back(std::move(left));
    }
    std::stable_sort(pieces.begin(), pieces.end(), slow_first);
    Terms whole = std::move(pieces[0]);
    for (std::size_t k = 1; k < pieces.size(); ++k) whole = program.multiply(whole, pieces[k], 0);
    return whole.terms.empty() ? Operand<Number>{} : whole.terms[0].second;
  }

  // The variable whose elimination makes a polynomial of the fewest variables, of the fewest
  // factors.
  static std::uint32_t narrowest(const std::vector<Terms>& pieces, std::uint32_t remaining) {
    std::uint32_t best = 0;
    auto least = std::make_pair(std::numeric_limits<int>::max(), 0);
    for (; remaining; remaining &= remaining - 1) {
      const std::uint32_t bit = remaining & -remaining;
      std::uint32_t scope = 0;
      int factors = 0;
      for (const Terms& piece : pieces) {
        if (!(piece.scope & bit)) continue;
        scope |= piece.scope;
        ++factors;
      }
      const auto width = std::make_pair(std::popcount(scope), factors);
      if (width < least) {
        least = width;
        best = bit;
      }
    }
    return best;
  }

  const Number* entries_;
  std::size_t n_, fast_;
  std::vector<Lines> support_;
  std::vector<double> most_;
};

// A plan in arrays. Operands are values by number, -1 for none, and -2 - k for constant k.
template <class Number>
auto eliminated(Matrix<Number> matrix, std::size_t fast) {
  const std::size_t n = matrix.shape(0);
  std::optional<Plan<Number>> plan;
  {
    nb::gil_scoped_release release;
    plan = Elimination<Number>(matrix.data(), n, fast).best();
  }
  std::vector<Number> constants;
  const auto coded = [&](const std::optional<Operand<Number>>& operand) -> std::int32_t {
    if (!operand) return -1;
    if (!operand->is_constant()) return operand->value;
    constants.push_back(operand->constant);
    return -1 - static_cast<std::int32_t>(constants.size());
  };
  std::vector<std::int32_t> operations;
  for (const auto& [left, right, more, changes] : plan->program.operations) {
    for (const auto& operand : {std::optional(left), right, more}) {
      operations.push_back(coded(operand));
    }
    operations.push_back(static_cast<std::int32_t>(changes));
  }
  const std::int32_t result = coded(plan->result);
  const std::size_t count = plan->program.operations.size();
  return std::make_tuple(std::move(plan->inner), std::move(plan->fast),
                         std::move(plan->program.leaves),
                         to_numpy(std::move(operations), {count, 4}), std::move(constants), result,
                         std::move(plan->scales), plan->cost);
}

const native::Family family("permanents", [](nb::module_& module) {
  const char* told =
      "Inner rows, fast rows, the fast signs of each factor, operations (left, right, more, "
      "changes; -1 for "
      "none, -2 - k for constant k), constants, the result, the columns' scales and the cost.";
  module.def("sparse_elimination", &eliminated<double>, nb::arg("matrix"), nb::arg("fast"), told);
  module.def("sparse_elimination", &eliminated<std::complex<double>>, nb::arg("matrix"),
             nb::arg("fast"), told);
});

}  // namespace
}  // namespace hardscape::permanents
