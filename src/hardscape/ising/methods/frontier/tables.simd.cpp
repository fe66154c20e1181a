// The tables of the frontier as Python sees them: one class for all widths of integers.
#include "ising/methods/frontier/tables.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "native/arrays.hpp"
#include "native/widths.hpp"

namespace hardscape::ising {
namespace {

using Words = NumpyArray<std::uint64_t>;
// States (n, words), their values (n, limbs), the least value left out, whether it was not stopped.
using Found = std::tuple<Words, Words, std::optional<Words>, bool>;

class AnyTables {
 public:
  virtual ~AnyTables() = default;
  virtual bool fill(Matrix<std::uint64_t> linear, Vector<std::uint8_t> stop) = 0;
  virtual Words least() const = 0;
  virtual Found lowest(std::size_t count, std::optional<Vector<std::uint64_t>> limit,
                       Vector<std::int64_t> place, Vector<std::uint64_t> fixed,
                       Vector<std::uint8_t> stop) const = 0;
};

template <class Value, int Limbs>
class TablesOf final : public AnyTables {
  static constexpr bool kShort = sizeof(Value) < sizeof(std::uint64_t);  // half of a word
  static_assert(kShort || sizeof(Value) == Limbs * sizeof(std::uint64_t));

 public:
  TablesOf(std::size_t bits, const Vector<std::int64_t>& row, const Vector<std::int64_t>& col,
           const Matrix<std::uint64_t>& quadratic)
      : tables_(bits, pairs(row, col, quadratic)) {}

  bool fill(Matrix<std::uint64_t> linear, Vector<std::uint8_t> stop) override {
    nb::gil_scoped_release release;
    return tables_.fill(values(linear), stop.data());
  }

  Words least() const override { return words({tables_.least()}); }

  Found lowest(std::size_t count, std::optional<Vector<std::uint64_t>> limit,
               Vector<std::int64_t> place, Vector<std::uint64_t> fixed,
               Vector<std::uint8_t> stop) const override {
    const std::vector<std::uint64_t> start(fixed.data(), fixed.data() + fixed.shape(0));
    auto found = [&] {
      nb::gil_scoped_release release;
      const auto most = limit ? std::optional(load(limit->data())) : std::nullopt;
      return tables_.lowest(count, most, place.data(), start, stop.data());
    }();
    const std::size_t listed = found.values.size();
    std::optional<Words> dropped;
    if (found.dropped) dropped = words({*found.dropped});
    return {to_numpy(std::move(found.states), {listed, start.size()}), words(found.values),
            std::move(dropped), found.complete};
  }

 private:
  static Value load(const std::uint64_t* words) {
    if constexpr (kShort) return static_cast<Value>(*words);
    Value value;
    std::memcpy(&value, words, sizeof value);
    return value;
  }

  static Words words(const std::vector<Value>& values) {
    std::vector<std::uint64_t> found(values.size() * Limbs);
    if constexpr (kShort) {
      std::copy(values.begin(), values.end(), found.begin());
    } else if (!values.empty()) {
      std::memcpy(found.data(), values.data(), values.size() * sizeof(Value));
    }
    return to_numpy(std::move(found), {values.size(), Limbs});
  }

  static std::vector<Value> values(const Matrix<std::uint64_t>& words) {
    std::vector<Value> found(words.shape(0));
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = load(words.data() + i * Limbs);
    return found;
  }

  static auto pairs(const Vector<std::int64_t>& row, const Vector<std::int64_t>& col,
                    const Matrix<std::uint64_t>& quadratic) {
    std::vector<typename Tables<Value>::Pair> found;
    for (std::size_t k = 0; k < row.shape(0); ++k) {
      found.push_back({static_cast<std::size_t>(row.data()[k]),
                       static_cast<std::size_t>(col.data()[k]),
                       load(quadratic.data() + k * Limbs)});
    }
    return found;
  }

  Tables<Value> tables_;
};

std::unique_ptr<AnyTables> make_tables(std::size_t bits, Vector<std::int64_t> row,
                                       Vector<std::int64_t> col, Matrix<std::uint64_t> quadratic,
                                       bool half) {
  if (half) return std::make_unique<TablesOf<std::int32_t, 1>>(bits, row, col, quadratic);
  return for_width(quadratic.shape(1), [&]<int Limbs>() -> std::unique_ptr<AnyTables> {
    using Value = typename Exact<Limbs>::type;
    return std::make_unique<TablesOf<Value, Limbs>>(bits, row, col, quadratic);
  });
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<AnyTables>(module, "FrontierTables")
      .def("fill", &AnyTables::fill, nb::arg("linear"), nb::arg("stop"),
           "Fill all tables; False if it was stopped.")
      .def("least", &AnyTables::least, "The least value, shape (1, limbs).")
      .def("lowest", &AnyTables::lowest, nb::arg("count"), nb::arg("limit").none(),
           nb::arg("place"), nb::arg("fixed"), nb::arg("stop"),
           "The lowest states at or below a limit; bit t is bit place[t] of a state.");
  module.def(
      "frontier_tables", &make_tables, nb::arg("bits"), nb::arg("row"), nb::arg("col"),
      nb::arg("quadratic"), nb::arg("half"),
      "Tables of a quadratic form of bits that are numbered in the order of elimination; their "
      "entries are of as many words as `quadratic`, or of half a word.");
}

}  // namespace hardscape::ising
