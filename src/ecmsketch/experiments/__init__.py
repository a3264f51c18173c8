"""The paper's tables and figures, and some beyond it: declared experiments, results as CSV, a report.

- `paper/`: the paper's own tables and figures, one file each, and what they measure with.
- `beyond/`: experiments that the paper does not have.
- `data/`: the streams that experiments run on, their exact counts, and their sites as files.
- `report/`: figures, tables and checked claims, made from the CSV files alone.

`registry` lists the experiments, `scales` says on how many events, `runner` runs them and `results` stores what they
return.
Needs `pip install 'ecmsketch[experiments]'`.
"""
