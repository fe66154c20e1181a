// DIMACS CNF and WCNF text, before and since 2022, in one pass over the bytes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "maxsat/instance.hpp"

namespace hardscape::maxsat {
namespace {

constexpr std::uint64_t kMaxWeight = (std::uint64_t{1} << 63) - 1;
constexpr std::uint64_t kMaxVariable = (std::uint64_t{1} << 31) - 1;

// Bytes from one look for signals to the next.
constexpr std::size_t kHeard = std::size_t{1} << 22;

struct Fault {
  std::size_t line;  // 0: the file as a whole
  std::string reason;
};

std::string quoted(std::string_view token) {
  std::string text = "'";
  for (char c : token.substr(0, 40)) text += c >= 32 && c < 127 && c != '\'' && c != '\\' ? c : '?';
  return text + (token.size() > 40 ? "...'" : "'");
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::vector<std::int32_t> literals;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int64_t> weights;
  std::vector<std::uint8_t> hard;
  std::vector<std::string> warnings;
  // Lines of WCNFPlus that demand that sums are at least or at most something, and their numbers.
  std::vector<std::tuple<std::size_t, std::string>> limits;
  std::uint64_t variables = 0;

  void parse() {
    reserve();
    bool any = false;
    while (next_line()) {
      std::string_view token = next_token();
      if (line_ == 1 && token == "c") first_comment();
      if (token.empty() || token[0] == 'c') continue;
      if (token == "%") break;  // the end of SATLIB's files
      if (token == "p") {
        if (any) throw Fault{line_, "a header 'p ...' after the first clause or header"};
        header();
      } else {
        clauses(token);
      }
      any = true;
    }
    if (!any) throw Fault{0, "holds neither a header 'p cnf', 'p wcnf' nor clauses"};
    if (open_) throw Fault{line_, "the file ends inside a clause; 0 ends a clause"};
    const std::size_t found = weights.size() + limits.size();
    if (header_line_ && declared_clauses_ != found)
      warn("announces " + std::to_string(declared_clauses_) + " clauses, and the file has " +
           std::to_string(found));
    if (header_line_ && largest_ > declared_)
      warn("announces " + std::to_string(declared_) + " variables, and the largest literal is of " +
           std::to_string(largest_));
    variables = std::max(largest_, header_line_ ? declared_ : told_);
  }

 private:
  enum class Kind { kNew, kOld, kCnf };

  // Makes room for as many clauses and literals as the beginning promises, a tenth more.
  void reserve() {
    constexpr std::size_t kSeen = 1 << 16;
    if (rest_.size() <= kSeen) return;
    std::size_t lines = 1, blanks = 0;
    for (const char c : rest_.substr(0, kSeen)) {
      lines += c == '\n';
      blanks += c == ' ';
    }
    const double times = 1.1 * static_cast<double>(rest_.size()) / kSeen;
    const auto clauses = static_cast<std::size_t>(times * static_cast<double>(lines));
    literals.reserve(static_cast<std::size_t>(times * static_cast<double>(blanks)));
    offsets.reserve(clauses + 1);
    weights.reserve(clauses);
    hard.reserve(clauses);
  }

  bool next_line() {
    if (rest_.empty()) return false;
    if (rest_.size() + kHeard < unheard_) hear();
    const std::size_t end = rest_.find('\n');
    text_ = whole_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    ++line_;
    return true;
  }

  // Lets Python run what it does on a signal; that may be an exception.
  void hear() {
    unheard_ = rest_.size();
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals()) throw nb::python_error();
  }

  std::string_view next_token() {
    std::size_t i = 0;
    while (i < text_.size() && is_space(text_[i])) ++i;
    std::size_t j = i;
    while (j < text_.size() && !is_space(text_[j])) ++j;
    const std::string_view token = text_.substr(i, j - i);
    text_ = text_.substr(j);
    return token;
  }

  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v'; }

  // Saturates at 2^64 - 1.
  std::uint64_t natural(std::string_view token, const char* what) const {
    std::uint64_t value = 0;
    if (token.empty()) throw Fault{line_, std::string(what) + " is missing"};
    for (char c : token) {
      if (c < '0' || c > '9')
        throw Fault{line_, std::string(what) + " is " + quoted(token) + "; digits are accepted"};
      const std::uint64_t digit = c - '0';
      value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    return value;
  }

  // The format of 2022 has no place for the number of variables; what is written here begins with
  // it.
  void first_comment() {
    if (next_token() != "variables") return;
    std::uint64_t count = 0;
    const std::string_view token = next_token();
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), count);
    const bool alone =
        error == std::errc{} && end == token.data() + token.size() && next_token().empty();
    if (alone && count <= kMaxVariable) told_ = count;
  }

  void header() {
    const std::string_view kind = next_token();
    const bool parted = kind == "pwcnf";  // each clause begins with its part, which changes no cost
    if (kind != "cnf" && kind != "wcnf" && kind != "wcnf+" && !parted)
      throw Fault{line_, "header 'p' goes on with " + quoted(kind) +
                             "; 'p cnf', 'p wcnf' and 'p pwcnf' are accepted"};
    kind_ = kind == "cnf" ? Kind::kCnf : Kind::kOld;
    header_line_ = line_;
    declared_ = natural(next_token(), "the number of variables");
    if (declared_ > kMaxVariable) throw Fault{line_, "announces more than 2147483647 variables"};
    declared_clauses_ = natural(next_token(), "the number of clauses");
    const std::string_view top = next_token();
    if (!top.empty() && kind_ == Kind::kOld) {
      top_ = natural(top, "the weight of hard clauses");
      top_text_ = top;
      has_top_ = true;
    }
    if (parted) parts_ = natural(next_token(), "the number of parts");
    const std::string_view more = kind_ == Kind::kCnf ? top : next_token();
    if (!more.empty()) throw Fault{line_, "header goes on with " + quoted(more)};
  }

  void clauses(std::string_view token) {
    for (; !token.empty(); token = next_token()) {
      if (!open_) {
        if (ended_on_ == line_ && token[0] == 'c') return;  // a comment after the clause
        if (ended_on_ == line_ && kind_ != Kind::kCnf)
          throw Fault{line_, "goes on with " + quoted(token) +
                                 " after the 0 that ends the clause; one clause stands on a line"};
        begin(token);
        if (kind_ != Kind::kCnf) {
          plain_literals();
          continue;
        }
      }
      if (kind_ != Kind::kCnf && (token == "<=" || token == ">=" || token == "w")) return limit();
      literal(token);
      if (open_) plain_literals();
    }
    if (open_ && kind_ == Kind::kNew) throw Fault{line_, "the clause does not end with 0"};
  }

  // What was taken for the clause of this line is left to Python, which knows how to say it in
  // clauses.
  void limit() {
    if (!hard.back()) throw Fault{line_, "demands a limit that is soft; hard ones are accepted"};
    literals.resize(static_cast<std::size_t>(offsets.back()));
    weights.pop_back();
    hard.pop_back();
    limits.emplace_back(line_, whole_);
    open_ = false;
  }

  // Literals up to the first that is out of the ordinary, the 0 included: most of a large file.
  void plain_literals() {
    constexpr int kDigits = 9;  // that any 32-bit integer can have
    const char *at = text_.data(), *const end = at + text_.size();
    for (;;) {
      const char* next = at;
      while (next < end && *next == ' ') ++next;
      const bool negative = next < end && *next == '-';
      next += negative;
      const char* const first = next;
      std::uint32_t value = 0;
      for (; next < end && next - first < kDigits && *next >= '0' && *next <= '9'; ++next)
        value = 10 * value + static_cast<std::uint32_t>(*next - '0');
      if (value == 0 || next == end || *next != ' ') break;
      if (value > largest_) largest_ = value;
      const auto variable = static_cast<std::int32_t>(value);
      literals.push_back(negative ? -variable : variable);
      at = next;
    }
    text_.remove_prefix(static_cast<std::size_t>(at - text_.data()));
  }

  void begin(std::string_view token) {
    open_ = true;
    if (kind_ == Kind::kCnf || (kind_ == Kind::kNew && token == "h")) {
      weights.push_back(kind_ == Kind::kCnf);
      hard.push_back(kind_ != Kind::kCnf);
      return;
    }
    if (!header_line_ && weights.empty() && (token[0] < '0' || token[0] > '9'))
      throw Fault{line_, "starts with " + quoted(token) +
                             "; a header 'p cnf' or 'p wcnf', or clauses of a WCNF file with 'h' "
                             "or a weight first, are accepted"};
    if (parts_ != kNoParts) {
      if (const std::uint64_t part = natural(token, "the part"); part == 0 || part > parts_)
        throw Fault{line_, "the part is " + quoted(token) + "; 1 to " + std::to_string(parts_) +
                               " are announced"};
      token = next_token();
    }
    const std::uint64_t weight = natural(token, "the weight");
    const bool beyond = weight == UINT64_MAX && top_ == UINT64_MAX && token != top_text_;
    const bool firm = has_top_ && weight >= top_ && weight > 0 && !beyond;
    if (!firm && (weight == 0 || weight > kMaxWeight))
      throw Fault{line_,
                  "the weight is " + quoted(token) + "; 1 to 9223372036854775807 is accepted"};
    weights.push_back(firm ? 0 : static_cast<std::int64_t>(weight));
    hard.push_back(firm);
  }

  void literal(std::string_view token) {
    if (token[0] == 'x' && kind_ == Kind::kCnf)
      throw Fault{line_, quoted(token) + " begins an XOR clause; those are for 'hardscape xorsat'"};
    const bool negative = token[0] == '-';
    const std::uint64_t variable = natural(token.substr(negative), "the literal");
    if (variable == 0) {
      if (negative) throw Fault{line_, "the literal is '-0'"};
      offsets.push_back(static_cast<std::int32_t>(literals.size()));
      open_ = false;
      ended_on_ = line_;
      return;
    }
    if (variable > kMaxVariable)
      throw Fault{line_,
                  "the literal is " + quoted(token) + "; variables up to 2147483647 are accepted"};
    if (variable > largest_) largest_ = variable;
    const auto value = static_cast<std::int32_t>(variable);
    literals.push_back(negative ? -value : value);
  }

  void warn(const std::string& what) {
    warnings.push_back(std::to_string(header_line_) + ": the header " + what);
  }

  std::string_view rest_, text_, whole_, top_text_;
  std::size_t unheard_ = rest_.size();  // bytes that were left when signals were looked for
  std::size_t line_ = 0, header_line_ = 0, ended_on_ = 0;
  Kind kind_ = Kind::kNew;
  bool open_ = false, has_top_ = false;
  static constexpr std::uint64_t kNoParts = UINT64_MAX;
  std::uint64_t declared_ = 0, declared_clauses_ = 0, largest_ = 0, told_ = 0, top_ = 0,
                parts_ = kNoParts;
};

// A formula as it was read; what Python makes an array of stays here.
class Text {
 public:
  explicit Text(Parser&& parser) : read_(std::move(parser)) {}

  std::uint64_t num_variables() const { return read_.variables; }
  const std::vector<std::string>& warnings() const { return read_.warnings; }
  const auto& limits() const { return read_.limits; }

  std::size_t num_literals() const { return read_.literals.size(); }
  std::size_t num_hard() const {
    return static_cast<std::size_t>(std::count(read_.hard.begin(), read_.hard.end(), 1));
  }
  std::size_t num_soft() const { return read_.hard.size() - num_hard(); }
  nb::object total_weight() const {
    unsigned __int128 total = 0;
    for (const std::int64_t weight : read_.weights) total += static_cast<std::uint64_t>(weight);
    return nb::int_(static_cast<std::uint64_t>(total >> 64)) << nb::int_(64) |
           nb::int_(static_cast<std::uint64_t>(total));
  }

  // A first assignment as characters 0 and 1, hard clauses that it violates, and its cost in two
  // words.
  auto first() const {
    Evaluation found;
    std::vector<std::uint8_t> value;
    {
      nb::gil_scoped_release release;
      const Clauses clauses(static_cast<std::uint32_t>(read_.variables), read_.literals,
                            read_.offsets, read_.weights, read_.hard);
      value = first_assignment(clauses, Poll(nullptr));
      found = evaluate(clauses, value.data());
    }
    std::string shown(value.size(), '0');
    for (std::size_t v = 0; v < value.size(); ++v) shown[v] = static_cast<char>('0' + value[v]);
    return std::make_tuple(shown, found.violated, static_cast<std::uint64_t>(found.cost >> 64),
                           static_cast<std::uint64_t>(found.cost));
  }

  // Hard clauses that an assignment of characters 0 and 1 violates, and its cost in two words.
  auto cost(const std::string& shown) const {
    if (shown.size() != read_.variables) throw nb::value_error("not an assignment of the formula");
    nb::gil_scoped_release release;
    std::vector<std::uint8_t> value(shown.size());
    for (std::size_t v = 0; v < value.size(); ++v) value[v] = shown[v] == '1';
    const Clauses clauses(static_cast<std::uint32_t>(read_.variables), read_.literals,
                          read_.offsets, read_.weights, read_.hard);
    const Evaluation found = evaluate(clauses, value.data());
    return std::make_tuple(found.violated, static_cast<std::uint64_t>(found.cost >> 64),
                           static_cast<std::uint64_t>(found.cost));
  }

  // What the process of a prover reads: a line of JSON with sizes, then the arrays.
  nb::bytes packed() const {
    const std::vector<std::int64_t> offsets(read_.offsets.begin(), read_.offsets.end());
    std::string told = "{\"variables\": " + std::to_string(read_.variables);
    const auto size = [&](const char* name, std::size_t count) {
      told += std::string(", \"") + name + "\": " + std::to_string(count);
    };
    size("literals", read_.literals.size());
    size("offsets", offsets.size());
    size("weights", read_.weights.size());
    size("hard", read_.hard.size());
    told += "}\n";
    const auto append = [&](const auto& values) {
      told.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
    };
    append(read_.literals);
    append(offsets);
    append(read_.weights);
    append(read_.hard);
    return nb::bytes(told.data(), told.size());
  }

  template <auto Member>
  static auto array(nb::handle self) {
    auto& values = nb::cast<Text&>(self).read_.*Member;
    using Value = typename std::remove_reference_t<decltype(values)>::value_type;
    return NumpyArray<const Value>(values.data(), {values.size()}, self);
  }

 private:
  Parser read_;
};

// Or line and reason of the first fault.
std::variant<std::tuple<std::size_t, std::string>, std::unique_ptr<Text>> parse(nb::bytes data) {
  Parser parser(std::string_view(data.c_str(), data.size()));
  try {
    nb::gil_scoped_release release;
    parser.parse();
  } catch (const Fault& fault) {
    return std::make_tuple(fault.line, fault.reason);
  }
  return std::make_unique<Text>(std::move(parser));
}

}  // namespace

void bind_parse(nb::module_& module) {
  nb::class_<Text>(module, "Text", "A formula as it was read.")
      .def_prop_ro("num_variables", &Text::num_variables)
      .def_prop_ro("literals", &Text::array<&Parser::literals>)
      .def_prop_ro("offsets", &Text::array<&Parser::offsets>)
      .def_prop_ro("weights", &Text::array<&Parser::weights>)
      .def_prop_ro("hard", &Text::array<&Parser::hard>)
      .def_prop_ro("warnings", &Text::warnings)
      .def_prop_ro("limits", &Text::limits)
      .def_prop_ro("num_literals", &Text::num_literals)
      .def_prop_ro("num_hard", &Text::num_hard)
      .def_prop_ro("num_soft", &Text::num_soft)
      .def_prop_ro("total_weight", &Text::total_weight, nb::sig("def total_weight(self) -> int"))
      .def("first", &Text::first,
           "A first assignment as a string, hard clauses it violates, and its cost in two words.")
      .def("cost", &Text::cost, nb::arg("assignment"),
           "Hard clauses that an assignment, as a string, violates, and its cost in two words.")
      .def("packed", &Text::packed, "What the process of a prover reads.");
  module.def("parse_wcnf", &parse, nb::arg("data"),
             "Clauses of a CNF or WCNF file, or (line, reason) where it is malformed.");
}

}  // namespace hardscape::maxsat
