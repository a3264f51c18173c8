"""The paper's tables and figures, and some beyond it: declared experiments, results as CSV, a report.

One file per experiment, named after what it shows (figure4, table3, ...); `registry` lists them, `runner` runs them,
`results` keeps them, `figures` and `report` show them from the CSV alone, and `claims` checks what the paper says.
Needs `pip install 'ecmsketch[experiments]'`.
"""
