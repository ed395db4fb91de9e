from jaxgrad.graph._collect import backward_graph as backward_graph
