"""Draw backward graphs: torch's and JAX's on one layout.

| file                          | one idea                                                   |
|-------------------------------|------------------------------------------------------------|
| `_model.py`                   | the data model of a backward graph, for both frameworks    |
| `_collect.py` `_forward.py` `_vjp.py` `_equations.py` | a JAX function's graph and VJP     |
| `_lanes.py` `_runs.py`        | the module of each operation; the lanes of a picture       |
| `_keys.py` `_fold.py` `_states.py` | merge the graphs of several settings into one diagram |
| `_differences.py`             | the gradients that flow in only one of two settings        |
| `_flows.py`                   | the modules that use each other's values                   |
| `_grid.py` `_layout.py` `_panels.py` | coordinates; how much detail fits                   |
| `_routes.py` `_marks.py`      | the curves of edges; free places for words and scissors    |
| `_sheet.py` `_style.py` `_words.py` `_legend.py` | marks, colours, words               |
| `_view.py` `_picture.py` `_beside.py` `_svg.py`  | one program; the rows; the picture  |
| `_png.py` `_table.py`         | the picture as PNG; the graph as a table                   |

This package does not import torch; `jaxgrad.parity.torch_graph.record` records torch's graphs.
"""

from jaxgrad.graph._collect import backward_graph as backward_graph
from jaxgrad.graph._model import ABSENT as ABSENT
from jaxgrad.graph._model import REACHED as REACHED
from jaxgrad.graph._model import RECORDED as RECORDED
from jaxgrad.graph._model import Edge as Edge
from jaxgrad.graph._model import Failure as Failure
from jaxgrad.graph._model import Graph as Graph
from jaxgrad.graph._model import Leaf as Leaf
from jaxgrad.graph._model import Op as Op
from jaxgrad.graph._model import Saved as Saved
from jaxgrad.graph._png import png as png
from jaxgrad.graph._svg import WIDEST as WIDEST
from jaxgrad.graph._svg import Setting as Setting
from jaxgrad.graph._svg import side_by_side as side_by_side
from jaxgrad.graph._table import Row as Row
from jaxgrad.graph._table import Table as Table
from jaxgrad.graph._table import table as table
