// Package measure turns what was observed into judgements: shares with
// intervals, tests at a level at which a correct system is red by chance in less
// than one of 1,000 runs of the whole suite, the power of those tests, bounds for
// what never happened, balance of pods, recovery after an event, and comparisons
// of bytes. Every judgement is a value, an Assertion; nothing here does I/O but
// printing.
package measure
