#include "scheduler/config/json.h"

namespace sluice {

namespace json = boost::json;

namespace {

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

json::object to_json(const TunableRow& row) {
  json::object out{
      {"name", view(row.name)}, {"type", view(name(row.kind))}, {"scope", view(name(row.scope))},
      {"live", false},          {"unit", view(row.unit)},       {"what", view(row.what)},
      {"help", view(row.help)},
  };
  if (row.kind == TunableKind::enumeration) {
    json::array values;
    for (const TunableValue& value : row.values) {
      values.push_back(json::object{{"name", view(value.name)}, {"help", view(value.help)}});
    }
    out["default"] = view(row.values[row.default_value].name);
    out["values"] = std::move(values);
  } else if (row.kind == TunableKind::text) {
    out["default"] = nullptr;
  } else {
    out["default"] = row.default_value;
    out["min"] = row.min;
    out["max"] = row.max;
  }
  return out;
}

void indent(std::string& out, const json::value& value, std::size_t depth);

template <typename Range, typename Emit>
void indent_range(std::string& out, const Range& range, char open, char close, std::size_t depth,
                  Emit emit) {
  if (range.empty()) {
    out += open;
    out += close;
    return;
  }
  out += open;
  bool first = true;
  for (const auto& item : range) {
    out += first ? "\n" : ",\n";
    first = false;
    out.append(2 * (depth + 1), ' ');
    emit(item);
  }
  out += '\n';
  out.append(2 * depth, ' ');
  out += close;
}

void indent(std::string& out, const json::value& value, std::size_t depth) {
  if (const auto* object = value.if_object()) {
    indent_range(out, *object, '{', '}', depth, [&](const json::key_value_pair& pair) {
      out += json::serialize(json::string(pair.key())) + ": ";
      indent(out, pair.value(), depth + 1);
    });
  } else if (const auto* array = value.if_array()) {
    indent_range(out, *array, '[', ']', depth,
                 [&](const json::value& item) { indent(out, item, depth + 1); });
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

json::object describe_json(std::string_view release) {
  json::array tunables;
  for (const TunableRow& row : tunable_rows()) tunables.push_back(to_json(row));
  json::array stats;
  for (const StatRow& row : stat_rows()) {
    stats.push_back(json::object{{"name", view(row.name)},
                                 {"layer", view(row.layer)},
                                 {"kind", view(row.kind)},
                                 {"unit", view(row.unit)},
                                 {"help", view(row.help)}});
  }
  return {{"schema", kJsonSchema},
          {"release", view(release)},
          {"tunables", std::move(tunables)},
          {"stats", std::move(stats)}};
}

json::object to_json(const Histogram& histogram) {
  json::object percentiles;
  for (const char* percent : {"50.000000", "90.000000", "99.000000", "99.900000", "99.990000"}) {
    percentiles[percent] = histogram.percentile(std::stod(percent));
  }
  json::object bins;
  for (std::size_t i = 0; i < Histogram::kCells; ++i) {
    if (histogram.cell(i) != 0) bins[std::to_string(Histogram::midpoint(i))] = histogram.cell(i);
  }
  return {{"N", histogram.count()},   {"min", histogram.min()},    {"max", histogram.max()},
          {"mean", histogram.mean()}, {"percentile", percentiles}, {"bins", std::move(bins)}};
}

namespace {
json::value to_json(const Counter& counter) { return counter.load(); }

json::object to_json(const ClassStats& stats) {
  json::object out;
#define CLASS_COUNTER(name, unit, help) out[#name] = to_json(stats.name);
#define CLASS_HISTOGRAM(name, unit, help) out[#name] = sluice::to_json(stats.name);
#include "scheduler/config/stats.def"
  return out;
}
}  // namespace

json::object to_json(const JobStats& stats) {
  json::object out;
#define JOB_COUNTER(name, unit, help) out[#name] = to_json(stats.name);
#include "scheduler/config/stats.def"
  json::object classes;
  for (unsigned i = 0; i < kIoClasses; ++i) {
    // Classes that the job never used would only be noise.
    if (stats.classes[i].ops.load() == 0) continue;
    classes[name(static_cast<IoClass>(i))] = to_json(stats.classes[i]);
  }
  out["classes"] = std::move(classes);
  return out;
}

json::object to_json(const LeafStats& stats) {
  json::object out;
#define LEAF_COUNTER(name, unit, help) out[#name] = to_json(stats.name);
#include "scheduler/config/stats.def"
  return out;
}

json::object to_json(const Tunables& tunables) {
  json::object out;
  for (const TunableRow& row : tunable_rows()) out[view(row.name)] = format(row, tunables);
  return out;
}

std::string pretty(const json::value& value) {
  std::string out;
  indent(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace sluice
