// The last solutions of a proof, which say at once what some wishes allow that a solver would be
// asked for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

namespace hardscape::maxsat {
namespace {

namespace nb = nanobind;

using Literals = std::vector<std::int32_t>;

// All of them satisfy what is demanded, but for variables that came later, which follow.
class Solutions {
 public:
  void take(const Literals& model) {
    while (!known_.empty() && (known_.size() == kMost || known_.size() * model.size() > kValues))
      known_.pop_front();
    known_.emplace_back();
    for (const std::int32_t x : model) set(known_.back(), x);
  }

  void forget() { known_.clear(); }

  // Forgets those that violate what is demanded from now on.
  void demand(const Literals& wishes) {
    std::erase_if(known_, [&](const Values& values) { return missed(values, wishes, 0) > 0; });
  }

  // Wishes that every core among these has: one of the solutions violates no other one.
  Literals needed(const Literals& core) const {
    Literals found;
    for (const Values& values : known_) {
      if (missed(values, core, 1) != 1) continue;
      const std::int32_t wish =
          *std::ranges::find_if_not(core, [&](auto x) { return holds(values, x); });
      if (std::ranges::find(found, wish) == found.end()) found.push_back(wish);
    }
    return found;
  }

  // How many of these are violated at least, as far as is known.
  std::size_t fewest(const Literals& wishes) const {
    std::size_t least = wishes.size();
    for (const Values& values : known_)
      least = std::min(least, missed(values, wishes, wishes.size()));
    return least;
  }

  // Has them know a new wish, that no more than so many of some others are violated.
  void count(std::int32_t wish, const Literals& wishes, std::size_t most) {
    for (Values& values : known_) set(values, missed(values, wishes, most) <= most ? wish : -wish);
  }

 private:
  using Values = std::vector<std::int8_t>;  // 1, -1 or 0 where none is known, of each variable

  static void set(Values& values, std::int32_t x) {
    const auto place = static_cast<std::size_t>(std::abs(x));
    if (place >= values.size()) values.resize(place + 1);
    values[place] = x > 0 ? 1 : -1;
  }

  static bool holds(const Values& values, std::int32_t x) {
    const auto place = static_cast<std::size_t>(std::abs(x));
    return place < values.size() && values[place] == (x > 0 ? 1 : -1);
  }

  // How many are violated, or not known; no more than one above the most that matters.
  static std::size_t missed(const Values& values, const Literals& wishes, std::size_t most) {
    std::size_t count = 0;
    for (const std::int32_t x : wishes)
      if (!holds(values, x) && ++count > most) break;
    return count;
  }

  static constexpr std::size_t kMost = 128, kValues = 30'000'000;  // of all of them

  std::deque<Values> known_;
};

}  // namespace

void bind_solutions(nb::module_& module) {
  nb::class_<Solutions>(module, "Solutions", "The last solutions of a proof.")
      .def(nb::init<>())
      .def("take", &Solutions::take, nb::arg("model"), "Remember the literals of a solution.")
      .def("forget", &Solutions::forget, "Forget all of them.")
      .def("demand", &Solutions::demand, nb::arg("wishes"),
           "Forget those that violate what is demanded from now on.")
      .def("needed", &Solutions::needed, nb::arg("core"),
           "Wishes that every core among these has: a solution violates no other one.")
      .def("fewest", &Solutions::fewest, nb::arg("wishes"),
           "How many of these are violated at least, as far as is known.")
      .def("count", &Solutions::count, nb::arg("wish"), nb::arg("wishes"), nb::arg("most"),
           "Know a new wish, that no more than so many of some others are violated.");
}

}  // namespace hardscape::maxsat
