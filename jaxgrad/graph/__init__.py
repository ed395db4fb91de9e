"""The picture of the backward graph: torch's beside JAX's, on one layout.

| file                          | one idea                                                   |
|-------------------------------|------------------------------------------------------------|
| `_model.py`                   | what a backward graph is, whoever recorded it              |
| `_collect.py` `_forward.py` `_vjp.py` | a JAX function's graph, read from the jaxpr of its VJP |
| `_lanes.py` `_runs.py`        | which module an operation belongs to; which lanes there are |
| `_keys.py` `_fold.py` `_states.py` | graphs of several settings become one diagram         |
| `_layout.py` `_panels.py`     | where everything is; how much of it there is room for      |
| `_sheet.py` `_style.py` `_view.py` `_words.py` `_svg.py` | the picture as text              |
| `_png.py` `_table.py`         | the picture as pixels; the same as rows                    |

torch's side is `jaxgrad.parity.torch_graph.record`: nothing here imports torch.
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
from jaxgrad.graph._svg import Setting as Setting
from jaxgrad.graph._svg import side_by_side as side_by_side
from jaxgrad.graph._table import Row as Row
from jaxgrad.graph._table import Table as Table
from jaxgrad.graph._table import table as table
