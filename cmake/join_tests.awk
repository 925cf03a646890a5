# Joins the sources of tests into one. Each has its own nameless namespace, so that they may use the same names; lines keep their files and numbers.
FNR == 1 { ++source; print "#line 1 \"" FILENAME "\"" }
/^namespace \{$/ { $0 = "namespace { namespace test_source_" source " {" }
/^}  \/\/ namespace$/ { $0 = "} }" }
{ print }
