"""The figures of a report: one file per kind of figure, each a function from result rows to `Chart` values."""
