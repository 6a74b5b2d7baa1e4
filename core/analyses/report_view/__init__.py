"""What is shown of one launch of a report: values to draw, made of the layout that the report carries."""
