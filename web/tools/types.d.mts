export function sharedFolder(): string;
export function typesText(folder: string): string;
