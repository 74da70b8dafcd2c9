# What no report may say: a resource above 100 %, a use above its peak, occupancy above what fits, anything below 0 or not a
# number. Reads the JSON of one run, a field a line (tr '{},' '\n'), with -F': *' and -v name=WHAT.
function wrong(text) { print name ": " text; bad = 1 }
/"cycles":/ && !cycles { cycles = $2 }
/"percent":/ && resource != "" && $2 != "null" && $2 > 100.001 { wrong(resource " at " $2 " %") }
/"used":/ && $2 != "null" { used = $2 }
/"peak":/ && $2 != "null" && used > $2 * 1.00001 { wrong(resource " " used " of " $2) }
/"occupancy":/ { fits = $2 }
/"occupancy_achieved":/ && $2 != "null" && $2 > fits + 1e-9 { wrong("occupancy " $2 " of " fits) }
/pct_of_peak|\.pct"/ && $2 != "null" && $2 > 100.001 { wrong($0) }
$2 ~ /^-[0-9]/ { wrong("below 0: " $0) }
/nan|inf/ { wrong($0) }
{ resource = $0; gsub(/^[ \t]*"|": *$/, "", resource) }
END { if (!(cycles > 0)) wrong("no cycles"); exit bad }
