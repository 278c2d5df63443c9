// Before the page is painted, so that it does not flash. The only classic script: modules run too late for this.
{
  const theme = localStorage.getItem('chat-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}
