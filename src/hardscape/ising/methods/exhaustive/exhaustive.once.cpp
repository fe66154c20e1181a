// The exhaustive search as Python sees it: one class for all widths of integers.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ising/methods/exhaustive/search.hpp"
#include "ising/methods/lists.hpp"
#include "native/arrays.hpp"

namespace hardscape::ising {
namespace {

// States (n, words), energies, whether all was done; blocks, of which pruned, opened; candidates.
using Found = std::tuple<Words64, Words64, bool, double, double, double, double>;

// One search behind one Python class, whatever its widths.
class AnySearch {
 public:
  virtual ~AnySearch() = default;
  virtual std::tuple<Found, Words64> run(int spins, Matrix<std::uint64_t> roots, std::size_t wanted,
                                         std::optional<Vector<std::uint64_t>> threshold,
                                         std::optional<Vector<std::uint64_t>> window, bool paired,
                                         std::optional<SharedWords> board, bool prune,
                                         Vector<std::uint8_t> stop, int grain,
                                         double seconds) const = 0;
  virtual std::tuple<double, double> expected(Matrix<std::uint64_t> roots,
                                              Vector<std::uint64_t> threshold,
                                              std::size_t kept) const = 0;
  virtual std::optional<Words64> least_bound(Matrix<std::uint64_t> ranges, int nodes) const = 0;
  virtual std::tuple<int, Words64> raise_floors(int position, Vector<std::uint64_t> state,
                                                int limit, double seconds,
                                                Vector<std::uint8_t> stop, Crew* crew,
                                                bool leads) = 0;
  virtual void raise_floor(int position, Vector<std::uint64_t> floor) = 0;
  virtual Words64 floors() const = 0;
  virtual void set_floors(Matrix<std::uint64_t> words) = 0;
  virtual Found open(Vector<std::uint64_t> blocks, std::size_t wanted,
                     std::optional<Vector<std::uint64_t>> threshold,
                     std::optional<Vector<std::uint64_t>> window) const = 0;
};

template <int Limbs, class Code>
class SearchOf final : public AnySearch {
  using Integer = Wide<Limbs>;
  using Words = std::optional<Vector<std::uint64_t>>;

 public:
  template <class... Args>
  explicit SearchOf(Args&&... args) : search_(std::forward<Args>(args)...) {}

  std::tuple<Found, Words64> run(int spins, Matrix<std::uint64_t> roots, std::size_t wanted,
                                 Words threshold, Words window, bool paired,
                                 std::optional<SharedWords> board, bool prune,
                                 Vector<std::uint8_t> stop, int grain,
                                 double seconds) const override {
    const Patience patience{grain, after(seconds)};
    Code end = last(roots);
    Found found = listed(wanted, threshold, window, [&](Pool<Limbs, Code>& pool) {
      if (paired) pool.pair();
      if (board) pool.join(Board<Limbs, Code>(board->data()));
      return search_.run(spins, first(roots), end, prune, pool, stop.data(), patience);
    });
    return {std::move(found), words(end)};
  }

  std::tuple<double, double> expected(Matrix<std::uint64_t> roots, Vector<std::uint64_t> threshold,
                                      std::size_t kept) const override {
    nb::gil_scoped_release release;
    const auto found =
        search_.expected(first(roots), last(roots), Integer::load(threshold.data()), kept);
    return {found.nodes, found.roots};
  }

  std::optional<Words64> least_bound(Matrix<std::uint64_t> ranges, int nodes) const override {
    std::optional<Integer> bound;
    {
      nb::gil_scoped_release release;
      std::vector<std::pair<Code, Code>> pairs;
      for (std::size_t i = 0; i + 1 < ranges.shape(0); i += 2) {
        const std::uint64_t* words = ranges.data() + i * kWords<Code>;
        pairs.emplace_back(load_code<Code>(words), load_code<Code>(words + kWords<Code>));
      }
      bound = search_.least_bound(pairs, nodes);
    }
    if (!bound) return std::nullopt;
    std::vector<std::uint64_t> words(Limbs);
    bound->store(words.data());
    return to_numpy(std::move(words), {1, Limbs});
  }

  std::tuple<int, Words64> raise_floors(int position, Vector<std::uint64_t> state, int limit,
                                        double seconds, Vector<std::uint8_t> stop, Crew* crew,
                                        bool leads) override {
    int reached;
    Code best = load_code<Code>(state.data());
    {
      nb::gil_scoped_release release;
      std::tie(reached, best) =
          search_.raise_floors(position, best, limit, seconds, stop.data(), crew, leads);
    }
    return {reached, words(best)};
  }

  void raise_floor(int position, Vector<std::uint64_t> floor) override {
    search_.raise_floor(position, Integer::load(floor.data()));
  }

  void set_floors(Matrix<std::uint64_t> words) override { search_.set_floors(words.data()); }

  Words64 floors() const override {
    std::vector<std::uint64_t> words(search_.floors().size() * Limbs);
    for (std::size_t p = 0; p < search_.floors().size(); ++p) {
      search_.floors()[p].store(words.data() + p * Limbs);
    }
    const std::size_t count = search_.floors().size();
    return to_numpy(std::move(words), {count, Limbs});
  }

  Found open(Vector<std::uint64_t> blocks, std::size_t wanted, Words threshold,
             Words window) const override {
    return listed(wanted, threshold, window, [&](Pool<Limbs, Code>& pool) {
      return search_.open(blocks.data(), blocks.shape(0), pool);
    });
  }

 private:
  static Code first(const Matrix<std::uint64_t>& roots) { return load_code<Code>(roots.data()); }
  static Code last(const Matrix<std::uint64_t>& roots) {
    return load_code<Code>(roots.data() + kWords<Code>);
  }

  static Words64 words(const Code& code) {
    std::vector<std::uint64_t> words(kWords<Code>);
    std::memcpy(words.data(), &code, sizeof code);
    return to_numpy(std::move(words), {kWords<Code>});
  }

  template <class Body>
  static Found listed(std::size_t wanted, const Words& threshold, const Words& window,
                      Body&& body) {
    auto [states, energies, told] = collect<Limbs, Code>(wanted, false, threshold, window, body);
    return {std::move(states), std::move(energies), told.complete,  told.blocks,
            told.pruned,       told.opened,         told.candidates};
  }

  Search<Limbs, Code> search_;
};

// The `wanted` lowest of two lists in spectral order; states have any number of words.
auto merge_spectra(Matrix<std::uint64_t> left_states, Matrix<std::uint64_t> left_energies,
                   Matrix<std::uint64_t> right_states, Matrix<std::uint64_t> right_energies,
                   std::size_t wanted) {
  const std::size_t words = left_states.shape(1);
  return for_width(left_energies.shape(1), [&]<int Limbs>() {
    const std::size_t lefts = left_states.shape(0), rights = right_states.shape(0);
    const std::size_t count = std::min(wanted, lefts + rights);
    std::vector<std::uint64_t> states(count * words), energies(count * Limbs);
    const auto right_first = [&](std::size_t i, std::size_t j) {
      const auto left = Wide<Limbs>::load(left_energies.data() + i * Limbs);
      const auto right = Wide<Limbs>::load(right_energies.data() + j * Limbs);
      if (left != right) return right < left;
      const std::uint64_t *mine = left_states.data() + i * words,
                          *theirs = right_states.data() + j * words;
      for (std::size_t w = words; w-- > 0;) {
        if (mine[w] != theirs[w]) return theirs[w] < mine[w];
      }
      return false;
    };
    std::size_t i = 0, j = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const bool take_left = j == rights || (i < lefts && !right_first(i, j));
      const std::size_t k = take_left ? i++ : j++;
      const auto& codes = take_left ? left_states : right_states;
      const auto& sums = take_left ? left_energies : right_energies;
      std::copy_n(codes.data() + k * words, words, states.data() + n * words);
      std::copy_n(sums.data() + k * Limbs, Limbs, energies.data() + n * Limbs);
    }
    return std::make_tuple(to_numpy(std::move(states), {count, words}),
                           to_numpy(std::move(energies), {count, Limbs}));
  });
}

std::unique_ptr<AnySearch> make_search(int mid, int fine_shift, int filter_shift,
                                       std::int64_t slack, Matrix<std::uint64_t> fields,
                                       Matrix<std::uint64_t> couplings,
                                       Vector<std::uint64_t> offset, Vector<std::int64_t> label,
                                       Vector<std::uint64_t> gauge) {
  const Shape shape{static_cast<int>(label.shape(0)), mid, fine_shift, filter_shift, slack};
  const auto made = [&]<int Limbs, class Code>() -> std::unique_ptr<AnySearch> {
    return std::make_unique<SearchOf<Limbs, Code>>(shape, fields.data(), couplings.data(),
                                                   offset.data(), label.data(),
                                                   load_code<Code>(gauge.data()));
  };
  return for_widths(offset.shape(0), gauge.shape(0), made);
}

}  // namespace

void bind_exhaustive(nb::module_& module) {
  nb::class_<Crew>(module, "Crew", "So many threads that raise floors together.")
      .def(nb::init<int>(), nb::arg("size"));
  nb::class_<AnySearch>(module, "SpectrumSearch")
      .def("run", &AnySearch::run, nb::arg("spins"), nb::arg("roots"), nb::arg("wanted"),
           nb::arg("threshold").none(), nb::arg("window").none(), nb::arg("paired"),
           nb::arg("board").none(), nb::arg("prune"), nb::arg("stop"), nb::arg("grain"),
           nb::arg("seconds"),
           "Search from the first of two roots to before the second (words, shape (2, words)), or "
           "before the one that it returns.")
      .def("expected", &AnySearch::expected, nb::arg("roots"), nb::arg("threshold"),
           nb::arg("kept"), "Estimate the nodes and the roots that a search of these visits.")
      .def("least_bound", &AnySearch::least_bound, nb::arg("ranges"), nb::arg("nodes"),
           "A lower bound on the states below ranges of roots, shape (2 k, words); None without "
           "any.")
      .def(
          "raise_floors", &AnySearch::raise_floors, nb::arg("position"), nb::arg("state"),
          nb::arg("limit"), nb::arg("seconds"), nb::arg("stop"), nb::arg("crew").none(),
          nb::arg("leads"),
          "Tighten the bounds of the tree above a position whose least state is known; returns the "
          "position reached and the least state there.")
      .def("raise_floor", &AnySearch::raise_floor, nb::arg("position"), nb::arg("floor"),
           "Take the bound of one position.")
      .def("floors", &AnySearch::floors, "Lower bounds on the pair energy below each position.")
      .def("set_floors", &AnySearch::set_floors, nb::arg("words"), "Take bounds found before.")
      .def("open", &AnySearch::open, nb::arg("blocks"), nb::arg("wanted"),
           nb::arg("threshold").none(), nb::arg("window").none(),
           "List the blocks given by number.");
  module.def("merge_spectra", &merge_spectra, nb::arg("left_states"), nb::arg("left_energies"),
             nb::arg("right_states"), nb::arg("right_energies"), nb::arg("wanted"),
             "The lowest states of two lists, both in spectral order.");
  module.def("spectrum_search", &make_search, nb::arg("mid"), nb::arg("fine_shift"),
             nb::arg("filter_shift"), nb::arg("slack"), nb::arg("fields"), nb::arg("couplings"),
             nb::arg("offset"), nb::arg("label"), nb::arg("gauge"),
             "Prepare a search over the blocks of one model.");
}

}  // namespace hardscape::ising
