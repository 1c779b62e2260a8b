/** Keeps a component that throws from taking the page with it. */
import {Component, type ComponentChildren} from 'preact';
import {words} from '../words/index.ts';

interface Props {
  readonly children?: ComponentChildren;
  /** Shown anew when it changes, as with a row that got other content. */
  readonly of?: unknown;
}

export class ErrorBoundary extends Component<Props, {failed: boolean; of: unknown}> {
  override state = {failed: false, of: this.props.of};

  static override getDerivedStateFromProps(props: Props, state: {failed: boolean; of: unknown}): {failed: boolean; of: unknown} | null {
    return props.of === state.of ? null : {failed: false, of: props.of};
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({failed: true});
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div class="ui-failed" role="note">
        {words.shell.couldNotShow}{' '}
        <button type="button" class="ui-button quiet" onClick={() => this.setState({failed: false})}>{words.shell.showAgain}</button>
      </div>
    );
  }
}
